#include "pool/loader/loader.h"

#include <unistd.h>

#include <algorithm>

#include "pool/loader/session.h"

namespace tributary::pool {

// State of one process. A child of a fork leaves its parent's untouched: threads that
// do not exist in the child may hold its locks.
struct Loader::Own {
  const int process = getpid();
  std::mutex making;                 // of the session
  std::unique_ptr<Session> session;  // set once
};

Loader::Loader(PoolConfig config, MakeDomain make_domain)
    : config_(std::move(config)),
      make_domain_(make_domain),
      manifest_(config_.dataset.manifest),
      token_(read_token(config_)) {}

Loader::~Loader() {
  // A child that never loaded anything has no connections, and does not close its parent's.
  Own* const known = own_.load();
  if (known != nullptr && known->process == getpid()) delete known;
}

Loader::Own& Loader::own() {
  Own* known = own_.load(std::memory_order_acquire);
  if (known != nullptr && known->process == getpid()) return *known;
  auto made = std::make_unique<Own>();
  if (own_.compare_exchange_strong(known, made.get(), std::memory_order_acq_rel))
    return *made.release();
  return *known;  // another thread was faster
}

Session& Loader::session() {
  Own& mine = own();
  const std::lock_guard lock(mine.making);
  if (!mine.session) {
    auto made = std::make_unique<Session>(config_, *manifest_, token_, make_domain_());
    for (const auto& buffer : *buffers_) made->register_buffer(buffer);
    mine.session = std::move(made);
  }
  return *mine.session;
}

std::uint32_t Loader::length(std::uint64_t id) const {
  if (id >= manifest_->records())
    throw std::out_of_range("record " + std::to_string(id) + "; allowed: 0 to " +
                            std::to_string(manifest_->records() - 1));
  return manifest_->source(id).length;
}

void Loader::register_buffer(std::span<std::byte> buffer) {
  Session& its = session();
  const std::lock_guard lock(its.mutex());
  its.register_buffer(buffer);
  auto buffers = std::make_unique<Buffers>(*buffers_);
  buffers->push_back(buffer);
  buffers_ = std::move(buffers);
}

void Loader::unregister_buffer(const std::byte* buffer) {
  Session& its = session();
  const std::lock_guard lock(its.mutex());
  its.unregister_buffer(buffer);
  auto buffers = std::make_unique<Buffers>(*buffers_);
  std::erase_if(*buffers, [buffer](const auto& known) { return known.data() == buffer; });
  buffers_ = std::move(buffers);
}

void Loader::register_device(const DeviceBuffer& memory) {
  Session& its = session();
  const std::lock_guard lock(its.mutex());
  its.register_device(memory);
}

DeviceReads Loader::read_into_device(std::span<const std::uint64_t> ids,
                                     std::span<const std::span<std::byte>> targets) {
  check(ids, targets);
  Session& its = session();
  const std::lock_guard lock(its.mutex());
  return its.read_into_device(ids, targets);
}

void Loader::check(std::span<const std::uint64_t> ids,
                   std::span<const std::span<std::byte>> targets) const {
  if (ids.size() != targets.size())
    throw std::length_error(std::to_string(ids.size()) + " ids and " +
                            std::to_string(targets.size()) + " targets; allowed: one each");
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (const std::uint32_t wanted = length(ids[i]); targets[i].size() < wanted)
      throw std::length_error("record " + std::to_string(ids[i]) + " has " +
                              std::to_string(wanted) + " bytes, its target " +
                              std::to_string(targets[i].size()));
}

void Loader::get_batch(std::span<const std::uint64_t> ids,
                       std::span<const std::span<std::byte>> targets) {
  check(ids, targets);
  Session& its = session();
  const std::lock_guard lock(its.mutex());
  its.get_batch(ids, targets);
}

LoadCounters Loader::counters() const {
  Own* const mine = own_.load(std::memory_order_acquire);
  if (mine == nullptr || mine->process != getpid()) return {};
  Session* its = nullptr;
  {
    const std::lock_guard lock(mine->making);
    its = mine->session.get();
  }
  if (its == nullptr) return {};
  const std::lock_guard lock(its->mutex());
  return its->counters();
}

std::vector<NodeState> Loader::nodes() {
  return session().nodes();
}

}  // namespace tributary::pool
