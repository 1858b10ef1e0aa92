// The loads' side of the keeper; its work on connections is in node_keeper_turn.cc.
#include "pool/loader/node_keeper.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>

namespace tributary::pool {
namespace {

// A node that takes longer to connect is used as soon as it has: loads begin without it.
constexpr std::chrono::milliseconds kFirstConnections(3000);
constexpr std::chrono::milliseconds kAnswers(1000);
// Ids of one Lookup: more are asked in several, which a socket's buffer takes whole.
constexpr std::size_t kMostLookedUp = 1000;

}  // namespace

NodeKeeper::NodeKeeper(const PoolConfig& config, const Manifest& manifest,
                       const Placement& placement, std::string token, ReadDomain& domain)
    : config_(config),
      manifest_(manifest),
      placement_(placement),
      token_(std::move(token)),
      domain_(domain),
      table_(manifest.records()),
      nodes_(config.nodes.size()),
      wake_file_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (wake_file_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  files_.reserve(1 + nodes_.size());
}

NodeKeeper::~NodeKeeper() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake();
  if (thread_.joinable()) thread_.join();
  close(wake_file_);
}

void NodeKeeper::wake() {
  const std::uint64_t one = 1;
  static_cast<void>(!write(wake_file_, &one, sizeof one));
}

void NodeKeeper::start() {
  if (thread_.joinable()) return;
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) {
    // Loads do its work; the next one tries again.
  }
}

void NodeKeeper::run() {
  Lock lock(mutex_);
  while (!stopping_) turn(lock, std::chrono::milliseconds(1000));
}

// Returns false if the time is over.
template <typename Condition>
bool NodeKeeper::wait(Lock& lock, std::chrono::milliseconds most, Condition condition) {
  const auto end = Clock::now() + most;
  wake();
  while (!condition()) {
    const auto now = Clock::now();
    if (now >= end) return false;
    if (thread_.joinable() || turning_)
      changed_.wait_until(lock, end);
    else
      turn(lock, std::chrono::ceil<std::chrono::milliseconds>(end - now));
  }
  return true;
}

void NodeKeeper::begin_batch() {
  Lock lock(mutex_);
  start();
  if (first_) {
    wait(lock, kFirstConnections, [this] {
      return std::all_of(nodes_.begin(), nodes_.end(), [](const Node& node) { return node.tried; });
    });
    first_ = false;
  } else if (!thread_.joinable() && !turning_) {
    turn(lock, std::chrono::milliseconds(0));
  }
  in_batch_ = true;
  for (Node& node : nodes_) node.generation_of_batch = node.generation;
}

void NodeKeeper::end_batch() {
  const std::lock_guard lock(mutex_);
  in_batch_ = false;
}

std::optional<NodeKeeper::Connection> NodeKeeper::take(std::size_t n) {
  const std::lock_guard lock(mutex_);
  Node& node = nodes_[n];
  if (!node.reader) return std::nullopt;
  return Connection{std::move(node.reader), node.welcome.incarnation, node.serial};
}

bool NodeKeeper::lost(std::size_t n, std::uint64_t serial) {
  const std::lock_guard lock(mutex_);
  const Node& node = nodes_[n];
  return !node.connected || node.serial != serial || node.link->closed();
}

void NodeKeeper::fail(std::size_t n, std::uint64_t serial, const std::string& problem) {
  const std::lock_guard lock(mutex_);
  if (!nodes_[n].connected || nodes_[n].serial != serial) return;
  disconnect(n, problem);
  wake();
}

std::optional<Location> NodeKeeper::find(std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  return table_.find(id);
}

void NodeKeeper::forget(std::uint64_t id, const Location& place, std::uint64_t serial) {
  const std::lock_guard lock(mutex_);
  if (nodes_[place.node].serial != serial) return;
  if (const auto known = table_.find(id); known && *known == place) table_.forget(id);
}

bool NodeKeeper::misses_replicas() {
  const std::lock_guard lock(mutex_);
  return std::any_of(nodes_.begin(), nodes_.end(), [](const Node& node) {
    return node.connected && (node.whole_wanted || node.asked == Asked::whole);
  });
}

bool NodeKeeper::answers(std::size_t n, std::uint64_t serial) {
  const std::lock_guard lock(mutex_);
  return nodes_[n].connected && nodes_[n].serial == serial && !nodes_[n].slow;
}

void NodeKeeper::look_up(std::size_t n, std::span<const std::uint64_t> ids) {
  const std::lock_guard lock(mutex_);
  Node& node = nodes_[n];
  if (!node.connected || node.slow) return;
  for (; !ids.empty(); ids = ids.subspan(std::min(ids.size(), kMostLookedUp))) {
    const auto some = ids.first(std::min(ids.size(), kMostLookedUp));
    node.wishes.emplace_back(Lookup{{some.begin(), some.end()}});
  }
}

void NodeKeeper::report(std::size_t n, const PlacedRecord& record) {
  const std::lock_guard lock(mutex_);
  Node& node = nodes_[n];
  if (node.connected && !node.slow) node.wishes.emplace_back(Corrupt{record});
}

void NodeKeeper::wait_answers() {
  Lock lock(mutex_);
  const auto waits = [](const Node& node) { return !node.wishes.empty() && !node.slow; };
  if (std::none_of(nodes_.begin(), nodes_.end(), waits)) return;
  const bool all =
      wait(lock, kAnswers, [&] { return std::none_of(nodes_.begin(), nodes_.end(), waits); });
  if (all) return;
  for (Node& node : nodes_)
    if (waits(node)) node.slow = true;
}

std::vector<NodeState> NodeKeeper::nodes() {
  Lock lock(mutex_);
  start();
  const auto pending = [now = Clock::now()](const Node& node) {
    return !node.up && (node.link || !node.tried || node.next_try <= now);
  };
  wait(lock, kFirstConnections,
       [&] { return std::none_of(nodes_.begin(), nodes_.end(), pending); });
  std::vector<NodeState> out;
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    const Node& node = nodes_[n];
    const bool unknown = !node.up && node.problem.empty();
    out.push_back({config_.nodes[n].name, node.up, node.up ? name_of(node.transport) : "",
                   node.up   ? ""
                   : unknown ? "does not answer yet"
                             : node.problem});
  }
  return out;
}

std::uint64_t NodeKeeper::failures() {
  const std::lock_guard lock(mutex_);
  return failures_;
}

}  // namespace tributary::pool
