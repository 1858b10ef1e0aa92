// Operators' commands to a node: fill, pin, evict, verify, status.
#include <algorithm>
#include <chrono>
#include <new>
#include <nlohmann/json.hpp>

#include "tools/poold/node_server.h"

namespace tributary::poold {
namespace {

using namespace pool;  // all that it serves
using nlohmann::ordered_json;

// Records that are verified under one hold of the lock.
constexpr std::size_t kAtOnce = 64;

Instant now() {
  return Instant::from_ns(std::chrono::duration_cast<std::chrono::nanoseconds>(
                              std::chrono::steady_clock::now().time_since_epoch())
                              .count());
}

Text text(const ordered_json& json) {
  return {json.dump(-1, ' ', false, ordered_json::error_handler_t::replace)};
}

}  // namespace

Message NodeServer::run(const Command& command) {
  const std::uint64_t records = manifest_->records();
  if (command.first >= records)
    return Failure{"record " + std::to_string(command.first) + "; allowed: 0 to " +
                   std::to_string(records - 1)};
  const std::uint64_t count = std::min(command.count, records - command.first);
  switch (static_cast<CommandKind>(command.kind)) {
    case CommandKind::fill: return start_fill(command.first, count);
    case CommandKind::verify: return verify(command.first, count);
    case CommandKind::pin:
    case CommandKind::unpin: {
      const std::lock_guard lock(mutex_);
      const bool pinned = static_cast<CommandKind>(command.kind) == CommandKind::pin;
      return text({{pinned ? "pinned" : "unpinned", cache_->pin(command.first, count, pinned)}});
    }
    case CommandKind::evict: {
      const std::lock_guard lock(mutex_);
      return text({{"evicted", cache_->evict(command.first, count, now())}});
    }
  }
  return Failure{"unknown command " + std::to_string(command.kind)};
}

Message NodeServer::verify(std::uint64_t first, std::uint64_t count) {
  std::vector<std::uint64_t> ids;
  {
    const std::lock_guard lock(mutex_);
    ids = cache_->ids(first, count);
  }
  std::uint64_t corrupt = 0;
  for (std::size_t at = 0; at < ids.size(); at += kAtOnce) {
    if (stopping_) return Failure{"is being stopped"};
    const std::lock_guard lock(mutex_);
    for (std::size_t i = at; i < std::min(ids.size(), at + kAtOnce); ++i)
      corrupt += cache_->check(ids[i], now()) ? 0 : 1;
  }
  return text({{"verified", ids.size()}, {"corrupt", corrupt}});
}

Message NodeServer::start_fill(std::uint64_t first, std::uint64_t count) {
  const std::lock_guard lock(mutex_);
  if (filling_) return Failure{"is being filled already; see `tributary pool status`"};
  if (filler_.joinable()) filler_.join();
  try {
    filler_ = std::thread([this, first, count] { fill(first, count); });
  } catch (const std::exception& error) {  // no thread, or no memory for one, is left
    return Failure{std::string("cannot be filled: ") + error.what()};
  }
  filling_ = true;
  return text({{"filling", count}, {"incarnation", cache_->segment().incarnation()}});
}

void NodeServer::fill(std::uint64_t first, std::uint64_t count) {
  const auto wants = [this](std::uint64_t id) {
    if (!placement_.owners(id).contains(node_)) return false;
    const std::lock_guard lock(mutex_);
    return !cache_->holds(id);
  };
  const auto deliver = [this](std::uint64_t id, std::span<const std::byte> data) {
    const std::lock_guard lock(mutex_);
    return cache_->put(id, data, now()) == NodeCache::Put::full ? Prefetcher::Taken::full
                                                                : Prefetcher::Taken::stored;
  };
  const auto has_room = [this](std::uint32_t bytes) {
    const std::lock_guard lock(mutex_);
    return cache_->admits(bytes, now());
  };
  try {
    prefetcher_->run(first, count, {wants, deliver, has_room});
    report_fill("");
  } catch (const std::exception& error) {
    report_fill(error.what());
  }
  const std::lock_guard lock(mutex_);
  filling_ = false;
}

// `error`: what ended it early; empty: nothing did. A node that is stopped ends every fill.
void NodeServer::report_fill(std::string_view error) try {
  const FillProgress progress = prefetcher_->progress();
  if (stopping_ || (error.empty() && progress.failed == 0)) return;
  std::string text = "tributary-poold: filling ended";
  if (progress.failed != 0) text += ", records not read: " + std::to_string(progress.failed);
  if (!error.empty())
    text.append(": ").append(error);
  else if (!progress.errors.empty())
    text += ": " + progress.errors.front();
  report_(text);
} catch (const std::bad_alloc&) {
  // No memory is left for the line; the status has the numbers.
}

NodeStatus NodeServer::status() const {
  NodeStatus out;
  out.fill = prefetcher_->progress();
  out.connections = connections_.size();
  const std::lock_guard lock(mutex_);
  out.fill.running = filling_;
  out.capacity_bytes = cache_->segment().capacity();
  out.used_bytes = cache_->used_bytes();
  out.records = cache_->count();
  out.own_records = own_records_;
  out.pinned = cache_->pinned();
  out.incarnation = cache_->segment().incarnation();
  out.memory = cache_->segment().origin();
  out.cache = cache_->counters();
  out.denied = denied_;
  out.leases = cache_->lease_count();
  out.waiting_bytes = cache_->waiting_bytes();
  return out;
}

std::string NodeServer::status_text() const {
  const NodeStatus s = status();
  const ordered_json json = {{"node", node().name},
                             {"transport", transport()},
                             {"incarnation", s.incarnation},
                             {"capacity_bytes", s.capacity_bytes},
                             {"used_bytes", s.used_bytes},
                             {"waiting_bytes", s.waiting_bytes},
                             {"records", s.records},
                             {"of", s.own_records},
                             {"pinned", s.pinned},
                             {"leases", s.leases},
                             {"recovered", s.cache.recovered},
                             {"evicted", s.cache.evicted},
                             {"refused", s.cache.refused},
                             {"corrupt", s.cache.corrupt},
                             {"denied", s.denied},
                             {"fill",
                              {{"running", s.fill.running},
                               {"wanted", s.fill.wanted},
                               {"stored", s.fill.stored},
                               {"stored_bytes", s.fill.stored_bytes},
                               {"full", s.fill.full},
                               {"failed", s.fill.failed},
                               {"retries", s.fill.retries},
                               {"errors", s.fill.errors}}}};
  return text(json).json;
}

}  // namespace tributary::poold
