#include "pool/store/make_manifest.h"

#include <fnmatch.h>

#include <algorithm>
#include <limits>

#include "pool/record/record.h"
#include "pool/record/tar.h"

namespace tributary::pool {
namespace {

// A store whose requests are tried as the policy says.
struct TriedStore {
  void read(const StoreObject& object, std::uint64_t offset, std::span<std::byte> out) const {
    retry.run(object.name, version_of(object.name) ^ offset,
              [&] { store.read(object, offset, out); });
  }
  Store& store;
  const Retry& retry;
};

// A window that follows a parser through an object: one read covers headers of small members.
class Window {
 public:
  Window(const TriedStore& source, const StoreObject& object) : source_(source), object_(object) {}

  // Returns fewer bytes than asked for at the object's end.
  std::span<const std::byte> at(std::uint64_t offset, std::size_t bytes) {
    const auto there = static_cast<std::size_t>(
        offset >= object_.bytes ? 0 : std::min<std::uint64_t>(bytes, object_.bytes - offset));
    if (offset < start_ || offset + there > start_ + buffer_.size()) {
      constexpr std::uint64_t kRead = 128 << 10;
      buffer_.resize(std::max<std::size_t>(
          there, std::min<std::uint64_t>(kRead, object_.bytes - std::min(offset, object_.bytes))));
      start_ = offset;
      source_.read(object_, start_, buffer_);
    }
    return std::span<const std::byte>(buffer_).subspan(offset - start_, there);
  }

 private:
  const TriedStore& source_;
  const StoreObject& object_;
  std::uint64_t start_ = 0;
  std::vector<std::byte> buffer_;
};

void add_tar(const TriedStore& source, const StoreObject& object, std::vector<Shard>& shards,
             std::vector<ManifestEntry>& entries) {
  Shard shard{object.place(), object.bytes, object.version, 0, 0};
  Window window(source, object);
  TarParser parser;
  auto step = TarParser::Step::header;
  std::string key;
  SampleSuffixes suffixes;
  while (parser.offset() < object.bytes && step != TarParser::Step::end) {
    step = parser.feed(window.at(parser.offset(),
                                 step == TarParser::Step::body ? parser.body_bytes() : kTarBlock));
    if (step == TarParser::Step::bad) throw ManifestError(object.name + ": " + parser.problem());
    if (step != TarParser::Step::member) continue;
    const TarMember& member = parser.member();
    if (member.data_offset + member.bytes > object.bytes)
      throw ManifestError(object.name + ": ends inside of its member " + member.name);
    const std::uint64_t end = std::min(member.end(), object.bytes);
    const auto its = sample_member(member.name);
    if (!its) continue;
    if (shard.records == 0 || its->key != key) {
      entries.push_back({member.header_offset, 0, static_cast<std::uint32_t>(shards.size())});
      ++shard.records;
      key = its->key;
      suffixes.clear();
    }
    if (!suffixes.add(its->suffix))
      throw ManifestError(object.name + ": member " + member.name + ": sample " + key + " has a '" +
                          its->suffix + "' already");
    const std::uint64_t length = end - entries.back().offset;
    if (length > kMaxRecordBytes)
      throw ManifestError(object.name + ": record " + key + " is longer than " +
                          std::to_string(kMaxRecordBytes) + " bytes");
    entries.back().length = static_cast<std::uint32_t>(length);
  }
  shards.push_back(std::move(shard));
}

// Reads an IDX head: two zero bytes, the element type, the number of dimensions, and those.
ManifestOptions idx_layout(const TriedStore& source, const StoreObject& object,
                           std::uint64_t& records) {
  const auto fail = [&](const std::string& what) -> ManifestOptions {
    throw ManifestError(object.name + ": " + what);
  };
  std::byte head[4 + 4 * 8];
  if (object.bytes < 8) return fail("is too short for an IDX file");
  const std::size_t there = std::min<std::uint64_t>(sizeof head, object.bytes);
  source.read(object, 0, std::span(head).first(there));
  const auto kind = std::to_integer<unsigned>(head[2]);
  const auto dimensions = std::to_integer<std::size_t>(head[3]);
  const std::uint64_t element = kind == 8 || kind == 9     ? 1
                                : kind == 11               ? 2
                                : kind == 12 || kind == 13 ? 4
                                : kind == 14               ? 8
                                                           : 0;
  if (head[0] != std::byte{0} || head[1] != std::byte{0} || element == 0 || dimensions < 1 ||
      dimensions > 8 || there < 4 + 4 * dimensions)
    return fail("is no IDX file; a packed one is unpacked first");
  ManifestOptions out;
  out.header_bytes = 4 + 4 * dimensions;
  out.record_bytes = element;
  for (std::size_t d = 0; d < dimensions; ++d) {
    std::uint64_t size = 0;
    for (std::size_t i = 0; i < 4; ++i)
      size = size << 8 | std::to_integer<std::uint64_t>(head[4 + 4 * d + i]);
    if (d == 0)
      records = size;
    else if (size == 0 || out.record_bytes > kMaxRecordBytes / size)
      return fail("has records of no or too many bytes");
    else
      out.record_bytes *= size;
  }
  if (out.header_bytes + records * out.record_bytes != object.bytes)
    return fail("has " + std::to_string(object.bytes) + " bytes, its head says " +
                std::to_string(out.header_bytes + records * out.record_bytes));
  return out;
}

void add_fixed(const TriedStore& source, const StoreObject& object, ManifestOptions& layout,
               std::vector<Shard>& shards) {
  std::uint64_t records = 0;
  if (layout.format == DataFormat::idx) {
    const ManifestOptions own = idx_layout(source, object, records);
    if (!shards.empty() &&
        (own.record_bytes != layout.record_bytes || own.header_bytes != layout.header_bytes))
      throw ManifestError(object.name + ": records of " + std::to_string(own.record_bytes) +
                          " bytes, those of " + shards.front().name + " have " +
                          std::to_string(layout.record_bytes) + "; allowed: one size");
    layout.record_bytes = own.record_bytes;
    layout.header_bytes = own.header_bytes;
  } else {
    if (layout.record_bytes == 0) throw ManifestError("record_bytes is needed for format fixed");
    if (object.bytes < layout.header_bytes ||
        (object.bytes - layout.header_bytes) % layout.record_bytes != 0)
      throw ManifestError(object.name + ": " + std::to_string(object.bytes) +
                          " bytes are no header of " + std::to_string(layout.header_bytes) +
                          " and whole records of " + std::to_string(layout.record_bytes));
    records = (object.bytes - layout.header_bytes) / layout.record_bytes;
  }
  shards.push_back({object.place(), object.bytes, object.version, 0, records});
}

// For an error: how many objects are left out, and the first of them.
std::string left_out_text(const LeftOut& left_out) {
  if (left_out.count() == 0) return "";
  return "; " + std::to_string(left_out.count()) + " are left out, such as " +
         left_out.named().front();
}

}  // namespace

std::vector<std::byte> make_manifest(Store& store, const ManifestOptions& options,
                                     const Retry& retry) {
  const TriedStore source{store, retry};
  std::vector<Shard> shards;
  std::vector<ManifestEntry> entries;
  ManifestOptions layout = options;
  for (const StoreObject& object : store.list(retry)) {
    if (fnmatch(options.match.c_str(), object.name.c_str(), 0) != 0) continue;
    if (options.format == DataFormat::files)
      shards.push_back({object.place(), object.bytes, object.version, 0, 1});
    else if (options.format == DataFormat::tar)
      add_tar(source, object, shards, entries);
    else
      add_fixed(source, object, layout, shards);
  }
  if (shards.empty())
    throw ManifestError("the store has no object that matches '" + options.match + "'" +
                        left_out_text(store.left_out()));
  const Format format = options.format == DataFormat::files ? Format::files
                        : options.format == DataFormat::tar ? Format::tar
                                                            : Format::fixed;
  return write_manifest(format, format == Format::fixed ? layout.record_bytes : 0,
                        format == Format::fixed ? layout.header_bytes : 0, std::move(shards),
                        entries);
}

}  // namespace tributary::pool
