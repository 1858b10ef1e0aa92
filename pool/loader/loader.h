// Loads records from the pool straight into a caller's memory, and from the store if the pool does
// not have them (L2, L4).
//
//   ids ─▶ table ─▶ READ of header and data ─▶ check ─▶ done
//            │              │                   ├ stale: look it up, read again
//            │              └ node dead ─┐      └ corrupt: report, replica
//            └ not in the pool ──────────┴──▶ store, several at a time
//
// A target holds only data; nothing is copied on the way. All bytes that a load returns are
// checked: CRC32C from the pool, the length from the store.
//
// Any thread may call; loads run one after the other. Connections and the table are kept on a
// thread of the loader's (node_keeper.h), so that no load waits for a slow node. After a fork, the
// child opens its own connections at its first call: the parent's are not used.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "pool/loader/load_counters.h"
#include "pool/loader/manifest_file.h"
#include "pool/loader/pool_config.h"

namespace tributary::pool {

struct NodeState {
  std::string name;
  bool up = false;
  std::string transport;  // by which it is read; empty: it is down
  std::string problem;    // why it is down
};

// Some records of a batch could not be read from anywhere.
class LoadError : public std::runtime_error {
 public:
  LoadError(const std::string& text, std::vector<std::uint64_t> ids)
      : std::runtime_error(text), ids_(std::move(ids)) {}
  // The ids whose targets are not valid; all other targets are.
  [[nodiscard]] const std::vector<std::uint64_t>& ids() const { return ids_; }

 private:
  std::vector<std::uint64_t> ids_;
};

// CRC32C of the data, from the record's header, for records that were read into a device's memory.
using DeviceReads = std::vector<std::optional<std::uint32_t>>;
using MakeDomain = std::unique_ptr<ReadDomain> (*)();

class Session;

class Loader {
 public:
  // Reads the manifest; nodes are connected at the first load, which waits for them up to 3 s.
  // Throws std::runtime_error, also if the configuration's metrics_folder is none.
  explicit Loader(PoolConfig config, MakeDomain make_domain = make_read_domain);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  [[nodiscard]] const PoolConfig& config() const { return config_; }
  [[nodiscard]] const Manifest& manifest() const { return *manifest_; }
  [[nodiscard]] std::uint64_t records() const { return manifest_->records(); }
  // Throws std::out_of_range that names the valid ids.
  [[nodiscard]] std::uint32_t length(std::uint64_t id) const;

  // Makes a target known to devices; it must outlive loads into it. Parts of it are targets, too.
  void register_buffer(std::span<std::byte> buffer);
  void unregister_buffer(const std::byte* buffer);

  // The same for a GPU's memory, if RDMA devices can read into it; not valid in child processes.
  void register_device(const DeviceBuffer& memory);
  void unregister_device(const std::byte* memory) { unregister_buffer(memory); }
  // Reads records of the pool straight into a device's registered memory, if RDMA can. Headers are
  // checked, data is not: the caller must compare its CRC32C. Throws what get_batch() throws before
  // it reads.
  DeviceReads read_into_device(std::span<const std::uint64_t> ids,
                               std::span<const std::span<std::byte>> targets);

  // Throws what get_batch() throws before it reads.
  void check(std::span<const std::uint64_t> ids,
             std::span<const std::span<std::byte>> targets) const;
  // targets[i] gets record ids[i], and is at least as long. Throws std::out_of_range for an unknown
  // id and std::length_error for a target that is too short, both before reading; LoadError.
  void get_batch(std::span<const std::uint64_t> ids, std::span<const std::span<std::byte>> targets);
  void get_into(std::uint64_t id, std::span<std::byte> target) {
    get_batch({&id, 1}, {&target, 1});
  }

  [[nodiscard]] LoadCounters counters() const;
  // The same, and how long batches took, in Prometheus' text format.
  [[nodiscard]] std::string metrics() const;
  // Connects to nodes that are not connected yet; waits up to 3 s for them, beside loads.
  std::vector<NodeState> nodes();

 private:
  struct Own;
  using Buffers = std::vector<std::span<std::byte>>;
  Own& own();
  [[nodiscard]] Own* known_own() const;
  Session& session();
  template <typename Read>
  auto counted(Read read);
  template <typename Use>
  auto observe(Use use) const;

  PoolConfig config_;
  MakeDomain make_domain_;
  ManifestFile manifest_;
  std::string token_;
  // Replaced as a whole, by one store: a fork meets the old or the new one.
  std::unique_ptr<const Buffers> buffers_ = std::make_unique<const Buffers>();
  std::atomic<Own*> own_{nullptr};  // own() of any thread makes it
};

}  // namespace tributary::pool
