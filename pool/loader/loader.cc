#include "pool/loader/loader.h"

#include <unistd.h>

#include <algorithm>

#include "pool/loader/session.h"

namespace tributary::pool {

Loader::Loader(PoolConfig config, MakeDomain make_domain)
    : config_(std::move(config)),
      make_domain_(make_domain),
      manifest_(config_.dataset.manifest),
      token_(read_token(config_)) {}

Loader::~Loader() {
  // A child that never loaded anything has no connections, and does not close its parent's.
  if (process_ != getpid()) static_cast<void>(session_.release());
}

Session& Loader::session() {
  const int process = getpid();
  if (process_ != process) {
    static_cast<void>(session_.release());  // the parent's, in a child process
    session_ = std::make_unique<Session>(config_, *manifest_, token_, make_domain_());
    process_ = process;
    for (const auto& buffer : buffers_) session_->register_buffer(buffer);
  }
  return *session_;
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
  buffers_.push_back(buffer);
}

void Loader::unregister_buffer(const std::byte* buffer) {
  Session& its = session();
  const std::lock_guard lock(its.mutex());
  its.unregister_buffer(buffer);
  std::erase_if(buffers_, [buffer](const auto& known) { return known.data() == buffer; });
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
  if (!session_ || process_ != getpid()) return {};
  const std::lock_guard lock(session_->mutex());
  return session_->counters();
}

std::vector<NodeState> Loader::nodes() {
  Session& its = session();
  const std::lock_guard lock(its.mutex());
  return its.nodes();
}

}  // namespace tributary::pool
