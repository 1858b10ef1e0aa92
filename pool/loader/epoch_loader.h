// Loads this process's next records into one buffer, so that a caller names an amount and no ids
// (L2).
//
//   next(amount) ─▶ ids in sampler order, and their places ─▶ load(places, buffer)
//
// Each place begins at a multiple of 64 bytes. For one thread at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pool/loader/loader.h"
#include "pool/loader/sampler.h"

namespace tributary::pool {

// Where records lie in one buffer.
struct RecordPlaces {
  static constexpr std::uint64_t kAlignment = 64;

  std::vector<std::uint64_t> ids;
  std::vector<std::uint64_t> offsets;
  std::vector<std::uint64_t> lengths;
  std::uint64_t bytes = 0;  // of the buffer
};
// Throws std::out_of_range for an unknown id.
RecordPlaces places_of(const Loader& loader, std::vector<std::uint64_t> ids);

class EpochLoader {
 public:
  // Throws what Sampler throws. options.records is the loader's.
  EpochLoader(Loader& loader, SamplerOptions options);

  // The next records of this epoch, and none where it is over; moves nothing. Throws
  // std::invalid_argument for an amount of 0, or beyond the epoch.
  [[nodiscard]] RecordPlaces next(const Amount& amount) const;
  // Loads what next() gave last, and moves behind it; of none, to the next epoch. Throws
  // std::length_error where the buffer is shorter than the places, which moves nothing. Throws what
  // Loader::get_batch() throws behind the records: those that a LoadError does not name are there.
  void load(const RecordPlaces& places, std::span<std::byte> buffer);

  [[nodiscard]] std::uint64_t epoch() const { return sampler_.epoch(); }
  [[nodiscard]] std::uint64_t position() const { return sampler_.position(); }
  // Throws std::invalid_argument beyond this rank's share.
  void seek(std::uint64_t epoch, std::uint64_t position) { sampler_.seek(epoch, position); }

 private:
  Loader& loader_;
  Sampler sampler_;
};

}  // namespace tributary::pool
