// Reads records from the store, retries after temporary errors, and gives up when told to stop.
//
// One thread per instance. Waits between tries end at once when the stop flag is set.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "pool/record/manifest.h"
#include "pool/store/retry.h"
#include "pool/store/store.h"

namespace tributary::pool {

class RecordReader {
 public:
  RecordReader(std::unique_ptr<Store> store, const Manifest& manifest, const BackoffLimits& backoff,
               StopFlag& stop, ReaderCounters& counters, std::uint64_t seed)
      : store_(std::move(store)),
        manifest_(manifest),
        retry_(backoff, &stop, &counters),
        counters_(counters),
        seed_(seed) {
    store_->end_on(stop);
  }

  // Reads bytes of one shard. Throws StoreError: the error after the last try, or `unavailable`
  // when stopped.
  void read(std::uint32_t shard, std::uint64_t offset, std::span<std::byte> out);
  // Reads a whole record; `out` must have its length.
  void read_record(std::uint64_t id, std::span<std::byte> out) {
    const Source source = manifest_.source(id);
    read(source.shard, source.offset, out);
  }

 private:
  std::unique_ptr<Store> store_;
  const Manifest& manifest_;
  Retry retry_;
  ReaderCounters& counters_;
  std::uint64_t seed_;
};

}  // namespace tributary::pool
