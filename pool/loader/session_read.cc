// One batch: from the table to the pool's nodes, and the remaining records to the store.
#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

#include "pool/loader/session.h"
#include "pool/store/workers.h"

namespace tributary::pool {
namespace {

// A node that has reads to serve, in flight or not, and is silent for so long counts as dead.
constexpr auto kSilence = std::chrono::seconds(3);
// After so long without a completion, checks the connection: a killed process closes it.
constexpr auto kDoubt = std::chrono::milliseconds(20);
// A loader without completions polls for so long before it yields its core.
constexpr auto kSpin = std::chrono::microseconds(20);
constexpr int kWaitMs = 10;

}  // namespace

void Session::get_batch(std::span<const std::uint64_t> ids,
                        std::span<const std::span<std::byte>> targets) {
  const auto start = Clock::now();
  const Batch batch(keeper_);
  begin(ids, targets);
  distribute();
  for (;;) {
    read_from_pool();
    if (again_.empty()) break;
    look_up_again();
  }
  const auto count = [&] {
    const auto took = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count());
    ++counters_.batches;
    counters_.batch_ns += took;
    counters_.slowest_batch_ns = std::max(counters_.slowest_batch_ns, took);
  };
  try {
    read_from_store();
  } catch (...) {
    count();
    throw;
  }
  count();
}

// The only pass over the table.
void Session::distribute() {
  const bool replicas_missing = keeper_.misses_replicas();
  keeper_.find_all(
      items_.size(), [&](std::size_t i) { return items_[i].id; },
      [&](std::size_t i, const std::optional<Location>& at) {
        if (!at || !nodes_[at->node].up()) {
          (replicas_missing ? again_ : from_store_).push_back(i);
          return;
        }
        items_[i].at = *at;
        enqueue(at->node, i);
      });
  for (Node& node : nodes_) std::reverse(node.waiting.begin(), node.waiting.end());
}

// A node whose transport takes no read is as silent as one that completes none.
void Session::enqueue(std::size_t n, std::size_t index) {
  Node& node = nodes_[n];
  if (node.waiting.empty() && node.in_flight == 0) node.last_completion = Clock::now();
  node.waiting.push_back(index);
}

void Session::read_from_pool() {
  auto last_progress = Clock::now();
  for (;;) {
    bool busy = false;
    bool progress = false;
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      if (!nodes_[n].up() || (nodes_[n].waiting.empty() && nodes_[n].in_flight == 0)) continue;
      busy = true;
      try {
        progress |= post_waiting(n);
        progress |= poll_node(n);
      } catch (const std::runtime_error& error) {  // from the transport or the connection
        fail_node(n, error.what());
      }
    }
    if (!busy) return;
    if (progress) {
      last_progress = Clock::now();
      continue;
    }
    check_silent_nodes();
    wait_for_nodes(last_progress);
  }
}

// Sleeps until a node has a completion, if each of them can signal it: a polling loader would keep
// nodes on the same machine from serving.
void Session::wait_for_nodes(Clock::time_point last_progress) {
  if (Clock::now() - last_progress < kSpin) return;
  wait_files_.clear();
  for (Node& node : nodes_) {
    if (!node.up() || (node.waiting.empty() && node.in_flight == 0)) continue;
    const int file = node.in_flight == 0 ? -1 : node.reader->wait_file();
    if (file < 0) return std::this_thread::yield();
    wait_files_.push_back({file, POLLIN, 0});
  }
  ::poll(wait_files_.data(), wait_files_.size(), kWaitMs);
}

bool Session::post_waiting(std::size_t n) {
  Node& node = nodes_[n];
  bool posted = false;
  // Other nodes' reads have all headers: it is not this node that is silent.
  if (free_headers_.empty() && node.in_flight == 0) node.last_completion = Clock::now();
  while (!node.waiting.empty() && !free_headers_.empty()) {
    Item& item = items_[node.waiting.back()];
    const std::size_t header = free_headers_.back();
    const auto header_bytes = std::as_writable_bytes(std::span(headers_).subspan(header, 1));
    if (!node.reader->post({item.at.offset, header_bytes, item.target, node.waiting.back()})) break;
    if (node.in_flight++ == 0) node.last_completion = Clock::now();
    item.header = header;
    item.reading = true;
    free_headers_.pop_back();
    node.waiting.pop_back();
    posted = true;
  }
  return posted;
}

bool Session::poll_node(std::size_t n) {
  std::array<Completion, 32> completions{};
  const std::size_t got = nodes_[n].reader->poll(completions);
  for (std::size_t i = 0; i < got; ++i) {
    --nodes_[n].in_flight;
    finish(n, completions[i].context, completions[i].good);
  }
  if (got != 0) nodes_[n].last_completion = Clock::now();
  return got != 0;
}

void Session::finish(std::size_t n, std::size_t index, bool good) {
  Item& item = items_[index];
  item.reading = false;
  free_headers_.push_back(item.header);
  if (!good) {
    again_.push_back(index);
    throw TransportError("a read of node " + config_.nodes[n].name + " failed");
  }
  const Expected expected{item.id, item.at.generation, item.at.length, nodes_[n].incarnation};
  const RecordHeader& header = headers_[item.header];
  if (in_device_ != nullptr) return finish_in_device(item, header, is_expected(header, expected));
  const ReadCheck check = check_read(header, item.target, expected);
  if (check == ReadCheck::good) {
    ++counters_.hits;
    counters_.pool_bytes += item.target.size();
    return;
  }
  again_.push_back(index);
  keeper_.forget(item.id, item.at, nodes_[item.at.node].serial);
  if (check == ReadCheck::stale) {
    ++counters_.stale;
    return;
  }
  ++counters_.corrupt;
  const std::size_t rank = rank_of(item.id, n);
  item.tried = static_cast<std::uint8_t>(item.tried | 1u << rank);
  keeper_.report(n, {item.id, item.at.offset, item.at.length, item.at.generation});
}

void Session::check_silent_nodes() {
  const auto now = Clock::now();
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    Node& node = nodes_[n];
    const bool idle = node.waiting.empty() && node.in_flight == 0;
    if (!node.up() || idle || now - node.last_completion < kDoubt) continue;
    if (keeper_.lost(n, node.serial))
      fail_node(n, "closed its connection");
    else if (now - node.last_completion > kSilence)
      fail_node(n, "does not serve reads");
  }
}

// Asks each item's next live owner for its place; items that no owner has go to the store. Reports
// of damaged records are on their way at the same time.
void Session::look_up_again() {
  std::vector<std::vector<std::size_t>> asked(nodes_.size());
  for (const std::size_t index : again_) {
    Item& item = items_[index];
    const Owners owners = placement_.owners(item.id);
    std::size_t rank = 0;
    while (rank < owners.count &&
           ((item.tried >> rank & 1) != 0 || !may_be_asked(owners.nodes[rank])))
      ++rank;
    if (rank == owners.count) {
      from_store_.push_back(index);
      continue;
    }
    item.tried = static_cast<std::uint8_t>(item.tried | 1u << rank);
    asked[owners.nodes[rank]].push_back(index);
  }
  again_.clear();
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    std::vector<std::uint64_t> ids;
    for (const std::size_t index : asked[n]) ids.push_back(items_[index].id);
    keeper_.look_up(n, ids);
  }
  keeper_.wait_answers();
  for (std::size_t n = 0; n < nodes_.size(); ++n)
    for (const std::size_t index : asked[n]) {
      Item& item = items_[index];
      const auto at = keeper_.find(item.id);
      if (at && at->node == n && nodes_[n].up()) {
        item.at = *at;
        enqueue(n, index);
      } else {
        again_.push_back(index);  // try the next owner, or the store
      }
    }
}

bool Session::may_be_asked(std::size_t n) {
  return nodes_[n].up() && keeper_.answers(n, nodes_[n].serial);
}

void Session::read_from_store() {
  if (from_store_.empty()) return;
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::vector<std::uint64_t> failed;
  failed.reserve(from_store_.size());
  std::string first_problem;
  std::atomic<std::uint64_t> bytes{0};
  const auto work = [&](std::size_t worker) {
    RecordReader& reader = *store_readers_[worker];
    for (std::size_t at = next++; at < from_store_.size(); at = next++) {
      const Item& item = items_[from_store_[at]];
      try {
        reader.read_record(item.id, item.target);
        bytes += item.target.size();
      } catch (const std::exception& error) {  // the store's, or of memory
        const std::lock_guard lock(mutex);
        if (failed.empty())
          first_problem =
              manifest_.shards()[manifest_.source(item.id).shard].name + ": " + error.what();
        failed.push_back(item.id);
      }
    }
  };
  const std::size_t workers = std::min<std::size_t>(config_.fill.parallel, from_store_.size());
  while (store_readers_.size() < workers)
    store_readers_.push_back(
        std::make_unique<RecordReader>(store_->clone(), manifest_, config_.fill.backoff, stop_,
                                       store_counters_, store_readers_.size() + 1));
  run_workers(workers, work);
  counters_.misses += from_store_.size() - failed.size();
  counters_.store_bytes += bytes;
  if (failed.empty()) return;
  std::sort(failed.begin(), failed.end());
  const std::string text = std::to_string(failed.size()) +
                           " records are neither in the pool nor can be "
                           "read from the store; the first of them: record " +
                           std::to_string(failed[0]) + ", " + first_problem;
  throw LoadError(text, std::move(failed));
}

}  // namespace tributary::pool
