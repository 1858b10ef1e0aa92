// Reads records from the store, retries after temporary errors, and gives up when told to stop.
//
// One thread per instance. Waits between tries end at once when the stop flag is set.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

#include "pool/record/backoff.h"
#include "pool/record/manifest.h"
#include "pool/store/store.h"

namespace tributary::pool {

// Shared by readers that stop together.
class StopFlag {
 public:
  void set();
  [[nodiscard]] bool is_set() const { return set_.load(std::memory_order_acquire); }
  // Returns false if it was set before the time was over.
  bool wait(Duration time);

 private:
  std::atomic<bool> set_{false};  // pairs set() with every reader's check
  std::mutex mutex_;
  std::condition_variable changed_;
};

struct ReaderCounters {
  std::atomic<std::uint64_t> requests{0};
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint64_t> retries{0};
  std::atomic<std::uint64_t> failures{0};  // requests given up
};

class RecordReader {
 public:
  RecordReader(std::unique_ptr<Store> store, const Manifest& manifest, const BackoffLimits& backoff,
               StopFlag& stop, ReaderCounters& counters, std::uint64_t seed)
      : store_(std::move(store)),
        manifest_(manifest),
        backoff_(backoff),
        stop_(stop),
        counters_(counters),
        seed_(seed) {}

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
  BackoffLimits backoff_;
  StopFlag& stop_;
  ReaderCounters& counters_;
  std::uint64_t seed_;
};

}  // namespace tributary::pool
