#include "pool/loader/epoch_loader.h"

#include <string>
#include <utility>

namespace tributary::pool {
namespace {

SamplerOptions with_records(SamplerOptions options, std::uint64_t records) {
  options.records = records;
  return options;
}

}  // namespace

RecordPlaces places_of(const Loader& loader, std::vector<std::uint64_t> ids) {
  RecordPlaces out;
  out.ids = std::move(ids);
  for (const std::uint64_t id : out.ids) {
    out.offsets.push_back(out.bytes);
    out.lengths.push_back(loader.length(id));
    out.bytes += (out.lengths.back() + RecordPlaces::kAlignment - 1) / RecordPlaces::kAlignment *
                 RecordPlaces::kAlignment;
  }
  return out;
}

EpochLoader::EpochLoader(Loader& loader, SamplerOptions options)
    : loader_(loader), sampler_(with_records(options, loader.records())) {}

RecordPlaces EpochLoader::next(const Amount& amount) const {
  Sampler ahead = sampler_;
  return places_of(loader_,
                   ahead.next(amount, [this](std::uint64_t id) { return loader_.length(id); }));
}

void EpochLoader::load(const RecordPlaces& places, std::span<std::byte> buffer) {
  const std::size_t count = places.ids.size();
  if (count == 0) return sampler_.seek(sampler_.epoch() + 1, 0);
  if (buffer.size() < places.bytes)
    throw std::length_error("the next " + std::to_string(count) + " records take " +
                            std::to_string(places.bytes) + " bytes, their target has " +
                            std::to_string(buffer.size()));
  std::vector<std::span<std::byte>> targets;
  targets.reserve(count);
  for (std::size_t i = 0; i < count; ++i)
    targets.push_back(buffer.subspan(places.offsets[i], places.lengths[i]));
  sampler_.seek(sampler_.epoch(), sampler_.position() + count);
  loader_.get_batch(places.ids, targets);
}

}  // namespace tributary::pool
