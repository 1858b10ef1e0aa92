// The keeper's work: one round over all nodes' connections.
#include <unistd.h>

#include <algorithm>

#include "pool/loader/node_keeper.h"

namespace tributary::pool {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kRetryNode(1000);
// From the begin of a connection to the node's Welcome.
constexpr milliseconds kGreeting(3000);
constexpr milliseconds kAnswer(10'000);
// Messages of one node before the others' turn.
constexpr int kMostMessages = 8;

}  // namespace

// The loads have given the node up, and its link is still open.
bool NodeKeeper::given_up(const Node& node) {
  return node.link && node.asked == Asked::nothing && !node.connected;
}

void NodeKeeper::turn(Lock& lock, milliseconds most) {
  turning_ = true;
  for (std::size_t n = 0; n < nodes_.size() && !stopping_; ++n) advance(n, lock);
  files_.clear();
  files_.push_back({wake_file_, POLLIN, 0});
  for (const Node& node : nodes_)
    files_.push_back(
        {node.link ? node.link->fd() : -1, node.link ? node.link->events() : short{0}, 0});
  const auto time = stopping_ ? milliseconds(0) : std::min(most, time_to_next());
  lock.unlock();
  ::poll(files_.data(), files_.size(), static_cast<int>(time.count()));
  std::uint64_t woken = 0;
  static_cast<void>(!read(wake_file_, &woken, sizeof woken));
  lock.lock();
  for (std::size_t n = 0; n < nodes_.size() && !stopping_; ++n)
    if (files_[n + 1].revents != 0) receive(n, lock);
  turning_ = false;
  changed_.notify_all();
}

// Until something is due by time.
milliseconds NodeKeeper::time_to_next() const {
  auto next = Clock::time_point::max();
  for (const Node& node : nodes_) {
    if (!node.link)
      next = std::min(next, node.next_try);
    else if (node.asked != Asked::nothing)
      next = std::min(next, node.deadline);
    else
      next = std::min(next, node.next_renewal);
  }
  if (next == Clock::time_point::max()) return milliseconds(1000);
  return std::max(std::chrono::ceil<milliseconds>(next - Clock::now()), milliseconds(0));
}

// Does what is due at one node: connects, sends the next request, ends a connection whose answer is
// late.
void NodeKeeper::advance(std::size_t n, Lock& lock) {
  Node& node = nodes_[n];
  const auto now = Clock::now();
  if (given_up(node)) node.link.reset();
  if (!node.link) {
    if (now >= node.next_try) connect(n, lock);
    return;
  }
  try {
    if (node.asked != Asked::nothing && now >= node.deadline)
      throw StreamError(node.asked == Asked::greeting ? "does not answer" : "no answer in time");
    if (node.asked == Asked::nothing) ask(node);
  } catch (const std::exception& error) {
    disconnect(n, node.up ? error.what() : node.link->named(error).what());
    node.link.reset();
  }
}

void NodeKeeper::connect(std::size_t n, Lock& lock) {
  Node& node = nodes_[n];
  const PoolNodeConfig& its = config_.nodes[n];
  const LinkTarget target{its.address, its.name, greeted_name(config_), manifest_.fingerprint(),
                          token_};
  std::optional<ControlLink> link;
  std::string problem;
  lock.unlock();
  try {
    link.emplace(target);
  } catch (const std::exception& error) {
    problem = error.what();
  }
  lock.lock();
  if (!link) return disconnect(n, problem);
  node.link.emplace(std::move(*link));
  node.serial = ++serial_;
  node.asked = Asked::greeting;
  node.deadline = Clock::now() + kGreeting;
}

// Lookups go first: loads wait for them. Then the lease, which protects what is read.
void NodeKeeper::ask(Node& node) {
  const auto now = Clock::now();
  if (!node.wishes.empty()) {
    node.link->send(node.wishes.front());
    node.asked = Asked::wish;
  } else if (now >= node.next_renewal) {
    const std::uint64_t seen =
        in_batch_ ? std::min(node.generation_of_batch, node.generation) : node.generation;
    node.link->send(Renew{node.welcome.lease, seen});
    node.asked = Asked::renewal;
    node.next_renewal =
        now + milliseconds(std::clamp<std::uint64_t>(node.welcome.lease_ms / 3, 10, 1000));
  } else if (node.changes_wanted) {
    node.changes_wanted = false;
    node.link->send(TableRequest{node.generation});
    node.asked = Asked::changes;
  } else if (node.whole_wanted) {
    node.whole_wanted = false;
    node.link->send(TableRequest{0});
    node.asked = Asked::whole;
  }
  node.deadline = now + kAnswer;
}

void NodeKeeper::receive(std::size_t n, Lock& lock) {
  Node& node = nodes_[n];
  try {
    for (int i = 0; i < kMostMessages && node.link && !stopping_; ++i) {
      lock.unlock();
      std::optional<Message> message;
      std::exception_ptr problem;
      try {
        message = node.link->next();
      } catch (...) {
        problem = std::current_exception();
      }
      lock.lock();
      if (given_up(node)) return node.link.reset();
      if (problem) std::rethrow_exception(problem);
      if (!message) return;
      if (node.asked == Asked::nothing) throw StreamError("an answer to nothing");
      if (node.asked != Asked::greeting) node.deadline = Clock::now() + kAnswer;
      answered(n, *message, lock);
      if (node.asked == Asked::nothing && node.connected) ask(node);
    }
  } catch (const std::exception& error) {  // of the connection, the transport, or of memory
    disconnect(n, node.up ? error.what() : node.link->named(error).what());
    node.link.reset();
  }
}

void NodeKeeper::answered(std::size_t n, const Message& message, Lock& lock) {
  Node& node = nodes_[n];
  const Asked asked = node.asked;
  if (asked == Asked::greeting) {
    open_reader(n, std::get<Welcome>(message), lock);
    return;
  }
  if (asked == Asked::renewal) return take_renewal(node, n, message);
  if (asked == Asked::wish && std::holds_alternative<Corrupt>(node.wishes.front())) {
    if (!std::holds_alternative<Text>(message)) throw StreamError("an answer of the wrong kind");
    node.asked = Asked::nothing;
  } else {
    take_entries(n, message);
  }
  if (asked == Asked::wish && node.asked == Asked::nothing) {
    node.wishes.pop_front();
    if (node.wishes.empty()) node.slow = false;
    changed_.notify_all();
  }
}

void NodeKeeper::open_reader(std::size_t n, const Welcome& welcome, Lock& lock) {
  Node& node = nodes_[n];
  lock.unlock();
  std::unique_ptr<NodeReader> reader;
  std::exception_ptr problem;
  try {
    reader = domain_.connect(memory_of(welcome));
  } catch (...) {
    problem = std::current_exception();
  }
  lock.lock();
  if (problem) std::rethrow_exception(problem);
  node.transport = reader->kind();
  node.reader = std::move(reader);
  node.welcome = welcome;
  node.connected = true;
  node.slow = false;
  node.generation = node.generation_of_batch = 0;
  node.next_renewal = Clock::now();
  node.asked = Asked::nothing;
  node.changes_wanted = true;
}

void NodeKeeper::take_entries(std::size_t n, const Message& message) {
  Node& node = nodes_[n];
  const auto* const entries = std::get_if<Entries>(&message);
  if (entries == nullptr) throw StreamError("an answer of the wrong kind");
  for (const PlacedRecord& record : entries->records) apply(n, record);
  if (node.asked != Asked::wish && entries->more != 0) {
    if (entries->records.empty()) throw StreamError("its field 'more' promises records for ever");
    return;
  }
  if (node.asked == Asked::changes) {
    node.generation = std::max(node.generation, entries->generation);
    node.up = node.tried = true;
    changed_.notify_all();
  }
  node.asked = Asked::nothing;
}

void NodeKeeper::take_renewal(Node& node, std::size_t n, const Message& message) {
  const auto* const renewed = std::get_if<Renewed>(&message);
  if (renewed == nullptr) throw StreamError("an answer of the wrong kind");
  node.asked = Asked::nothing;
  if (renewed->alive == 0) {
    // Changes since then are not known: the lease had ended, or they were too many.
    node.welcome.lease = renewed->lease;
    node.generation = node.generation_of_batch = 0;
    table_.forget_node(static_cast<std::uint8_t>(n));
    node.changes_wanted = true;
  } else if (renewed->generation != node.generation) {
    node.changes_wanted = true;
  }
}

std::size_t NodeKeeper::rank_of(std::uint64_t id, std::size_t node) const {
  const Owners owners = placement_.owners(id);
  for (std::size_t rank = 0; rank < owners.count; ++rank)
    if (owners.nodes[rank] == node) return rank;
  return owners.count;
}

// Another node's entry stays if that node comes first among the record's owners.
void NodeKeeper::apply(std::size_t n, const PlacedRecord& record) {
  const Welcome& welcome = nodes_[n].welcome;
  const auto known = table_.find(record.id);
  if (is_gone(record)) {
    if (known && known->node == n) table_.forget(record.id);
    return;
  }
  if (record.id >= table_.size() || record.length != manifest_.source(record.id).length ||
      record.offset > welcome.bytes || footprint(record.length) > welcome.bytes - record.offset)
    return;
  if (known && known->node != n && rank_of(record.id, known->node) < rank_of(record.id, n)) return;
  table_.set(record.id,
             {static_cast<std::uint8_t>(n), record.offset, record.length, record.generation});
}

// The replicas of other nodes replace its records. The working thread closes the link.
void NodeKeeper::disconnect(std::size_t n, const std::string& problem) {
  Node& node = nodes_[n];
  const bool was_connected = node.connected;
  node.connected = node.up = false;
  node.tried = true;
  node.problem = problem;
  node.next_try = Clock::now() + kRetryNode;
  node.reader.reset();
  node.wishes.clear();
  node.asked = Asked::nothing;
  node.changes_wanted = node.whole_wanted = false;
  changed_.notify_all();
  if (!was_connected) return;
  ++failures_;
  table_.forget_node(static_cast<std::uint8_t>(n));
  if (config_.replicas == 0) return;
  for (Node& other : nodes_)
    if (other.connected) other.whole_wanted = true;
}

}  // namespace tributary::pool
