// A node of the pool at work: its memory, its readers, and its fill from the store (L1, L4).
//
//   memory file ─▶ NodeCache ─▶ served by a transport
//   listener, operate_socket ─▶ Connections: one thread each ─▶ answer()
//   fill thread ─▶ Prefetcher ─▶ NodeCache
//
// One mutex guards the cache; copies of records into memory are made under it, reads by loaders are
// not.
//
// Connections are read-only: commands are taken from those of the operate_socket, whose users the
// kernel names, and from those that prove the operators' token.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "pool/link/stream.h"
#include "pool/loader/manifest_file.h"
#include "pool/loader/pool_config.h"
#include "pool/segment/memory_file.h"
#include "pool/segment/node_cache.h"
#include "tools/poold/connections.h"
#include "tools/poold/operator_socket.h"
#include "tools/poold/watched_mutex.h"

namespace tributary::poold {

// A snapshot for status and metrics.
struct NodeStatus {
  std::uint64_t capacity_bytes = 0;
  std::uint64_t used_bytes = 0;
  std::uint64_t waiting_bytes = 0;  // dropped, and still protected by leases
  std::uint64_t records = 0;
  std::uint64_t own_records = 0;  // of the manifest, that placement gives it
  std::uint64_t pinned = 0;
  std::uint64_t leases = 0;
  std::uint64_t connections = 0;
  std::uint64_t denied = 0;  // greetings and operators' proofs that were refused, and commands
  std::uint32_t incarnation = 0;
  pool::MemoryOrigin memory = pool::MemoryOrigin::fresh;
  pool::CacheCounters cache;
  pool::FillProgress fill;
};

class NodeServer {
 public:
  // Takes a line for the log. Any thread's.
  using Report = std::function<void(const std::string&)>;

  // Takes the memory and listens. Throws std::runtime_error. `report` hears of fills that lack
  // records.
  NodeServer(
      const pool::PoolConfig& config, std::size_t node, const Connections::Limits& limits = {},
      Report report = [](const std::string&) {});
  ~NodeServer();
  NodeServer(const NodeServer&) = delete;
  NodeServer& operator=(const NodeServer&) = delete;

  [[nodiscard]] NodeStatus status() const;
  [[nodiscard]] const char* transport() const;
  // Changes as long as connections are accepted and the cache's mutex changes hands. Any thread.
  [[nodiscard]] std::uint64_t turns() const { return turns_.load(std::memory_order_relaxed); }
  [[nodiscard]] const pool::PoolNodeConfig& node() const { return config_.nodes[node_]; }

 private:
  // The rights of a connection, its lease, and the nonces of its greeting.
  struct Peer {
    bool may_operate = false;
    std::uint64_t lease = 0;  // 0: it has none
    pool::Nonce nonce{};
    pool::Nonce nodes_nonce{};
  };

  void listen();
  void accept_from(int listener, bool for_operators);
  void refuse_one(int listener);
  void serve(Connections::Connection& connection, pool::MessageStream& stream);
  void end_lease(std::uint64_t lease);
  // False: the connection ends.
  bool greet(Connections::Connection& connection, pool::MessageStream& stream, Peer& peer);
  void answer(pool::MessageStream& stream, const pool::Message& message, Peer& peer);
  pool::Message renew(const pool::Renew& wish, std::uint64_t& lease);
  pool::Message prove_operator(const pool::Operate& operate, Peer& peer);
  pool::Message deny(std::string text);
  void send_table(pool::MessageStream& stream, std::uint64_t since);
  pool::Message run(const pool::Command& command);
  pool::Message verify(std::uint64_t first, std::uint64_t count);
  pool::Message start_fill(std::uint64_t first, std::uint64_t count);
  void fill(std::uint64_t first, std::uint64_t count);
  void report_fill(std::string_view error);
  [[nodiscard]] std::string status_text() const;

  const Report report_;
  const pool::PoolConfig config_;
  const std::size_t node_;
  const pool::ManifestFile manifest_;
  const std::string token_;
  const std::string operator_token_;  // empty: nothing proves an operator
  const pool::Placement placement_;
  std::uint64_t own_records_ = 0;
  pool::MemoryFile memory_;
  mutable WatchedMutex mutex_;  // of cache_, and of what is under it
  std::optional<pool::NodeCache> cache_;
  std::unique_ptr<pool::MemoryServer> served_;
  std::unique_ptr<pool::Store> store_;
  std::unique_ptr<pool::Prefetcher> prefetcher_;
  std::thread filler_;
  bool filling_ = false;
  std::uint64_t denied_ = 0;

  std::optional<OperatorSocket> operators_;
  int listener_ = -1;
  int spare_ = -1;                       // a descriptor to give up where no other is left
  std::atomic<bool> stopping_{false};    // set by the destructor
  std::atomic<std::uint64_t> turns_{0};  // from the acceptor to the watchdog
  Connections connections_;
  std::thread acceptor_;  // last: begins when all else is there
};

}  // namespace tributary::poold
