// Loads records from the pool straight into a caller's memory, and from the store where the pool
// has none (L2, L4).
//
//   ids ─▶ table ─▶ READ of header and data ─▶ check ─▶ done
//            │              │                   ├ stale: look it up, read again
//            │              └ node dead ─┐      └ corrupt: report, replica
//            └ not in the pool ──────────┴──▶ store, several at a time
//
// A target holds data and nothing else; nothing is copied on the way. Every byte that a load hands
// out was checked: CRC32C from the pool, the length from the store.
//
// Any thread may call; calls run one after the other. After a fork the child opens connections of
// its own at its first call: those of the parent are not used.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "pool/loader/manifest_file.h"
#include "pool/loader/pool_config.h"

namespace tributary::pool {

struct LoadCounters {
  std::uint64_t hits = 0;    // records from the pool
  std::uint64_t misses = 0;  // records from the store
  std::uint64_t pool_bytes = 0;
  std::uint64_t store_bytes = 0;
  std::uint64_t stale = 0;          // entries that were out of date
  std::uint64_t corrupt = 0;        // records whose CRC was wrong
  std::uint64_t node_failures = 0;  // nodes that died, or could not be reached
  std::uint64_t batches = 0;
  std::uint64_t batch_ns = 0;  // sum over batches
  std::uint64_t slowest_batch_ns = 0;
};

struct NodeState {
  std::string name;
  bool up = false;
  std::string transport;  // that it is read by; empty: it is down
  std::string problem;    // why it is down
};

// Some records of a batch could not be read from anywhere.
class LoadError : public std::runtime_error {
 public:
  LoadError(const std::string& text, std::vector<std::uint64_t> ids)
      : std::runtime_error(text), ids_(std::move(ids)) {}
  // Those whose targets hold nothing of use; the others are good.
  [[nodiscard]] const std::vector<std::uint64_t>& ids() const { return ids_; }

 private:
  std::vector<std::uint64_t> ids_;
};

class Session;

class Loader {
 public:
  // Reads the manifest; nodes are connected at the first load. Throws std::runtime_error.
  explicit Loader(PoolConfig config);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  [[nodiscard]] const PoolConfig& config() const { return config_; }
  [[nodiscard]] const Manifest& manifest() const { return *manifest_; }
  [[nodiscard]] std::uint64_t records() const { return manifest_->records(); }
  // Throws std::out_of_range that says which ids there are.
  [[nodiscard]] std::uint32_t length(std::uint64_t id) const;

  // Devices need to know targets. Outlives the loads into it. Parts of it are targets, too.
  void register_buffer(std::span<std::byte> buffer);
  void unregister_buffer(const std::byte* buffer);

  // Throws what get_batch() throws before it reads.
  void check(std::span<const std::uint64_t> ids,
             std::span<const std::span<std::byte>> targets) const;
  // targets[i] gets record ids[i], and is at least as long. Throws std::out_of_range for an unknown
  // id, std::length_error for a target that is too short: nothing is read then; LoadError.
  void get_batch(std::span<const std::uint64_t> ids, std::span<const std::span<std::byte>> targets);
  void get_into(std::uint64_t id, std::span<std::byte> target) {
    get_batch({&id, 1}, {&target, 1});
  }

  [[nodiscard]] LoadCounters counters() const;
  // Connects where that was not done yet.
  std::vector<NodeState> nodes();

 private:
  Session& session();

  PoolConfig config_;
  ManifestFile manifest_;
  std::string token_;
  std::vector<std::span<std::byte>> buffers_;
  std::unique_ptr<Session> session_;
  int process_ = 0;
};

}  // namespace tributary::pool
