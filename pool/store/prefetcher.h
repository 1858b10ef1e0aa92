// Fills a node ahead of use: reads the wanted records from the store, several at a time (L1).
//
//   groups of ids ──▶ workers, each with a store of its own ──▶ deliver(id, data)
//
// Records that follow each other in a shard are read in one request. A record that cannot be read
// is skipped and named, or ends the fill, as configured. Where memory or threads run short, a fill
// goes on with what it has, and names what it could not do.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "pool/store/record_reader.h"

namespace tributary::pool {

enum class OnDamaged : std::uint8_t { skip, stop };

struct FillOptions {
  std::uint32_t parallel = 8;  // requests at once
  BackoffLimits backoff;
  OnDamaged on_damaged = OnDamaged::skip;
};

struct FillProgress {
  std::uint64_t wanted = 0;  // records
  std::uint64_t stored = 0;
  std::uint64_t stored_bytes = 0;
  std::uint64_t full = 0;    // read or not, the node is full and did not accept them
  std::uint64_t failed = 0;  // could not be read
  std::uint64_t retries = 0;
  bool running = false;
  std::vector<std::string> errors;  // the first few, each with its shard and ids
};

class Prefetcher {
 public:
  // `store` is only cloned.
  Prefetcher(const Store& store, const Manifest& manifest, const FillOptions& options)
      : store_(store), manifest_(manifest), options_(options) {}

  enum class Taken : std::uint8_t { stored, full };
  struct Target {
    std::function<bool(std::uint64_t id)> wants;                                      // any thread
    std::function<Taken(std::uint64_t id, std::span<const std::byte> data)> deliver;  // any thread
    // Whether a record of so many bytes has a chance; what has none is not read. Null: it has.
    std::function<bool(std::uint32_t bytes)> has_room = nullptr;  // any thread
  };
  // Returns when the ids [first, first + count) are done. Only one call at a time.
  void run(std::uint64_t first, std::uint64_t count, const Target& target);
  // Makes run() end soon, and later ones at once; any thread.
  void stop();

  [[nodiscard]] FillProgress progress() const;

 private:
  struct Piece;
  void work(std::uint64_t seed, const Target& target);
  void read_group(RecordReader& reader, std::uint64_t first, std::uint64_t end,
                  const Target& target, std::vector<std::byte>& buffer);
  void read_piece(RecordReader& reader, const Piece& piece, const Target& target,
                  std::vector<std::byte>& buffer);
  void fail(const Piece& piece, const std::string& what);
  // Counts what a worker that ended early has left undone of [first, end).
  void give_up(std::uint64_t first, std::uint64_t end, const Target& target,
               const std::string& what);

  const Store& store_;
  const Manifest& manifest_;
  FillOptions options_;
  std::unique_ptr<StopFlag> stop_;  // of the current run, or the last
  bool stopped_ = false;
  ReaderCounters counters_;
  std::atomic<std::uint64_t> next_{0};
  std::uint64_t end_ = 0;
  mutable std::mutex mutex_;  // of progress_, stopped_, and stop_ where no run is at work
  FillProgress progress_;
};

}  // namespace tributary::pool
