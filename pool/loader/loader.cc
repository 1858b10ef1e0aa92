#include "pool/loader/loader.h"

#include <unistd.h>

#include <algorithm>

#include "pool/loader/loader_metrics.h"
#include "pool/loader/session.h"

namespace tributary::pool {

// State of one process. A child of a fork leaves its parent's untouched: threads that
// do not exist in the child may hold its locks.
struct Loader::Own {
  explicit Own(const PoolConfig& config) : metrics(config.name, config.load.metrics_folder) {}
  ~Own() {
    if (session) metrics.write(session->counters());
  }
  const int process = getpid();
  std::mutex making;                 // of the session
  std::unique_ptr<Session> session;  // set once
  LoaderMetrics metrics;             // under the session's mutex
};

Loader::Loader(PoolConfig config, MakeDomain make_domain)
    : config_(std::move(config)),
      make_domain_(make_domain),
      manifest_(config_.dataset.manifest),
      token_(read_token(config_)) {
  if (!config_.load.metrics_folder.empty())
    LoaderMetrics::check_folder(config_.load.metrics_folder);
}

Loader::~Loader() {
  // A child that never loaded anything has no connections, and does not close its parent's.
  delete known_own();
}

Loader::Own* Loader::known_own() const {
  Own* const known = own_.load(std::memory_order_acquire);
  return known != nullptr && known->process == getpid() ? known : nullptr;
}

Loader::Own& Loader::own() {
  Own* known = own_.load(std::memory_order_acquire);
  if (known != nullptr && known->process == getpid()) return *known;
  auto made = std::make_unique<Own>(config_);
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

// Calls read(session) under the session's mutex, and takes its time into the metrics, also where it
// throws.
template <typename Read>
auto Loader::counted(Read read) {
  Session& its = session();
  LoaderMetrics& metrics = own().metrics;
  const std::lock_guard lock(its.mutex());
  const LoadCounters before = its.counters();
  struct AtEnd {
    ~AtEnd() {
      const LoadCounters now = session.counters();
      if (now.batches != before.batches) metrics.add_batch(now.batch_ns - before.batch_ns);
      metrics.write_if_due(now, LoaderMetrics::Clock::now());
    }
    Session& session;
    LoaderMetrics& metrics;
    const LoadCounters& before;
  };
  const AtEnd at_end{its, metrics, before};
  return read(its);
}

DeviceReads Loader::read_into_device(std::span<const std::uint64_t> ids,
                                     std::span<const std::span<std::byte>> targets) {
  check(ids, targets);
  return counted([&](Session& its) { return its.read_into_device(ids, targets); });
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
  counted([&](Session& its) { its.get_batch(ids, targets); });
}

// Calls use(counters, metrics) under the session's mutex; with zeros before the first load.
template <typename Use>
auto Loader::observe(Use use) const {
  Own* const mine = known_own();
  Session* its = nullptr;
  if (mine != nullptr) {
    const std::lock_guard lock(mine->making);
    its = mine->session.get();
  }
  if (its == nullptr) return use(LoadCounters(), LoaderMetrics(config_.name, ""));
  const std::lock_guard lock(its->mutex());
  return use(its->counters(), mine->metrics);
}

LoadCounters Loader::counters() const {
  return observe([](const LoadCounters& counters, const LoaderMetrics&) { return counters; });
}

std::string Loader::metrics() const {
  return observe([](const LoadCounters& counters, const LoaderMetrics& metrics) {
    return metrics.text(counters);
  });
}

std::vector<NodeState> Loader::nodes() {
  return session().nodes();
}

}  // namespace tributary::pool
