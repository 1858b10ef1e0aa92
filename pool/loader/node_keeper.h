// Connections to a loader's nodes, their leases, and the record table, kept up to date on a thread
// of their own beside the loads.
//
//   keeper's thread:  connect ─▶ greet ─▶ open a reader ─▶ read the table ─▶ renew, follow changes
//                        ▲                     │
//                        └── after a second ◀──┴── closed, silent, a lie
//   loads:            take() a reader ─▶ find() records ─▶ look_up(), report(), fail()
//
// Nothing here makes a load wait for a node, but with a limit: for the first connections, and for
// answers to look_up() and report(). A node that is slow, stopped or dead delays no other node:
// each request is sent and its answer read without waiting. Only the name of a node (its resolver)
// and its data connection are waited for, on the keeper's thread.
//
// Where no thread can be started, loads that wait do its work.
//
// mutex_ protects all but the links, which the working thread alone opens, reads and closes.
#pragma once

#include <poll.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "pool/link/control_link.h"
#include "pool/loader/loader.h"
#include "pool/record/placement.h"
#include "pool/record/table.h"

namespace tributary::pool {

class NodeKeeper {
 public:
  // All but the token must outlive it. Starts nothing yet.
  NodeKeeper(const PoolConfig& config, const Manifest& manifest, const Placement& placement,
             std::string token, ReadDomain& domain);
  // Ends the thread.
  ~NodeKeeper();
  NodeKeeper(const NodeKeeper&) = delete;
  NodeKeeper& operator=(const NodeKeeper&) = delete;

  // A batch begins: until end_batch(), leases protect what the table holds now. The first one waits
  // until each node is connected or has failed, with a limit.
  void begin_batch();
  void end_batch();

  struct Connection {
    std::unique_ptr<NodeReader> reader;
    std::uint32_t incarnation = 0;  // of the node's segment
    std::uint64_t serial = 0;
  };
  // The node's newest connection, once; nullopt: there is none.
  std::optional<Connection> take(std::size_t node);
  // True if this connection of the node is not its present one, or the node has closed it.
  bool lost(std::size_t node, std::uint64_t serial);
  // Ends this connection of the node: it does not serve reads.
  void fail(std::size_t node, std::uint64_t serial, const std::string& problem);

  [[nodiscard]] std::optional<Location> find(std::uint64_t id);
  // Calls seen(i, place) for each of count ids, where id(i) is the i-th.
  template <typename Id, typename Seen>
  void find_all(std::size_t count, Id id, Seen seen) {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < count; ++i) seen(i, table_.find(id(i)));
  }
  // Forgets the place, if the table still has it and its node the connection.
  void forget(std::uint64_t id, const Location& place, std::uint64_t serial);
  // True while tables of nodes are read for the replicas of what another one held: records that the
  // table does not know may be in the pool.
  [[nodiscard]] bool misses_replicas();

  // True if this connection of the node is its present one, and it answers.
  [[nodiscard]] bool answers(std::size_t node, std::uint64_t serial);
  // Asks the node for the places of records; find() has them when wait_answers() returns.
  void look_up(std::size_t node, std::span<const std::uint64_t> ids);
  // Tells the node that a record's data is damaged.
  void report(std::size_t node, const PlacedRecord& record);
  // Waits until nodes have answered, with a limit. A node that has not is not asked again until it
  // answers.
  void wait_answers();

  // Connects to nodes that are not connected, and waits for the outcome, with a limit.
  std::vector<NodeState> nodes();
  [[nodiscard]] std::uint64_t failures();

 private:
  using Clock = std::chrono::steady_clock;
  using Lock = std::unique_lock<std::mutex>;

  enum class Asked : std::uint8_t { nothing, greeting, changes, whole, renewal, wish };
  struct Node {
    std::optional<ControlLink> link;
    std::unique_ptr<NodeReader> reader;  // until take()
    Welcome welcome;
    TransportKind transport = TransportKind::automatic;
    std::uint64_t serial = 0;  // of the connection
    bool connected = false;    // it has a reader, here or with the loads
    bool up = false;           // and its table was read
    bool tried = false;        // it was up, or has failed
    bool slow = false;         // has let a wait for answers run out
    std::string problem;
    Clock::time_point next_try;
    Clock::time_point next_renewal;
    Clock::time_point deadline;  // of the answer
    Asked asked = Asked::nothing;
    bool changes_wanted = false;
    bool whole_wanted = false;
    std::deque<Message> wishes;  // lookups and reports; the first one may be asked
    std::uint64_t generation = 0;
    std::uint64_t generation_of_batch = 0;  // when the current batch began
  };

  template <typename Condition>
  bool wait(Lock& lock, std::chrono::milliseconds most, Condition condition);
  void start();
  void run();
  static bool given_up(const Node& node);
  // One round over all nodes; waits for them, at most so long.
  void turn(Lock& lock, std::chrono::milliseconds most);
  void advance(std::size_t node, Lock& lock);
  void connect(std::size_t node, Lock& lock);
  void ask(Node& node);
  void receive(std::size_t node, Lock& lock);
  void answered(std::size_t node, const Message& message, Lock& lock);
  void open_reader(std::size_t node, const Welcome& welcome, Lock& lock);
  void take_entries(std::size_t node, const Message& message);
  void take_renewal(Node& node, std::size_t n, const Message& message);
  void apply(std::size_t node, const PlacedRecord& record);
  void disconnect(std::size_t node, const std::string& problem);
  [[nodiscard]] std::size_t rank_of(std::uint64_t id, std::size_t node) const;
  [[nodiscard]] std::chrono::milliseconds time_to_next() const;
  void wake();

  const PoolConfig& config_;
  const Manifest& manifest_;
  const Placement& placement_;
  const std::string token_;
  ReadDomain& domain_;

  std::mutex mutex_;
  std::condition_variable changed_;
  RecordTable table_;
  std::vector<Node> nodes_;
  std::uint64_t serial_ = 0;
  std::uint64_t failures_ = 0;
  bool first_ = true;  // no batch has waited for connections yet
  bool in_batch_ = false;
  bool stopping_ = false;
  bool turning_ = false;  // some thread is in turn()
  int wake_file_ = -1;
  std::vector<pollfd> files_;  // the working thread's
  std::thread thread_;
};

}  // namespace tributary::pool
