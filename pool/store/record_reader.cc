#include "pool/store/record_reader.h"

#include <chrono>

namespace tributary::pool {

void StopFlag::set() {
  {
    const std::lock_guard lock(mutex_);
    set_.store(true, std::memory_order_release);
  }
  changed_.notify_all();
}

bool StopFlag::wait(Duration time) {
  std::unique_lock lock(mutex_);
  return !changed_.wait_for(lock, std::chrono::nanoseconds(time.to_ns()),
                            [this] { return is_set(); });
}

void RecordReader::read(std::uint32_t shard, std::uint64_t offset, std::span<std::byte> out) {
  const Shard& its = manifest_.shards()[shard];
  const StoreObject object{its.name, its.bytes, its.version};
  Backoff backoff(backoff_, seed_ ^ (std::uint64_t{shard} << 32) ^ offset);
  for (;;) {
    if (stop_.is_set())
      throw StoreError(StoreFault::unavailable, its.name + ": reading was stopped");
    try {
      counters_.requests.fetch_add(1, std::memory_order_relaxed);
      store_->read(object, offset, out);
      counters_.bytes.fetch_add(out.size(), std::memory_order_relaxed);
      return;
    } catch (const StoreError& error) {
      if (!error.passing() || !backoff.again()) {
        counters_.failures.fetch_add(1, std::memory_order_relaxed);
        if (backoff.tries() == 0) throw;
        throw StoreError(error.fault(), std::string(error.what()) + " (after " +
                                            std::to_string(backoff.tries() + 1) + " tries)");
      }
      counters_.retries.fetch_add(1, std::memory_order_relaxed);
    }
    stop_.wait(backoff.delay());
  }
}

}  // namespace tributary::pool
