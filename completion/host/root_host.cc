#include "completion/host/root_host.h"

#include "core/wire/extension.h"

namespace tributary::completion {

using aggregator::Outbox;
using aggregator::Outgoing;

namespace {

// Messages of one aggregation engine call that the completion engine answers at length. Probes ask
// for replies beyond that again.
constexpr std::size_t kMostMessages = 2;

}  // namespace

RootHost::RootHost(const config::SwitchConfig& config, aggregator::Engine* root,
                   std::uint64_t nonce)
    : engine_(limits_of(config)), replies_(kMostMessages * engine_.outbox_capacity()) {
  if (root != nullptr) remote_.emplace(config, *root, nonce);
}

struct RootHost::Change {
  std::shared_ptr<Engine::Change> engine;
  std::size_t outbox_capacity = 0;
  Outbox replies;
  std::shared_ptr<RemoteHosts::Change> remote;
};

std::shared_ptr<RootHost::Change> RootHost::prepare(const config::SwitchConfig& next,
                                                    std::uint64_t nonce) const {
  std::vector<JobLimits> running;
  for (std::size_t i = 0; i < engine_.job_count(); ++i) running.push_back(engine_.limits(i));
  const std::vector<JobLimits> limits = limits_of(next, running);
  const std::size_t capacity = Engine::outbox_capacity(limits);
  const std::size_t for_hosts = remote_ ? RemoteHosts::outbox_capacity(next) : 0;
  return std::make_shared<Change>(Change{engine_.prepare(limits), capacity + for_hosts,
                                         Outbox(kMostMessages * capacity),
                                         remote_ ? remote_->prepare(next, nonce) : nullptr});
}

std::size_t RootHost::outbox_capacity(const Change& next) {
  return next.outbox_capacity;
}

void RootHost::apply(Change& change) {
  engine_.apply(*change.engine);
  if (remote_) remote_->apply(*change.remote);
  std::swap(replies_, change.replies);
}

void RootHost::intercept(const Outgoing& message, Instant now) {
  const wire::Header& h = message.header;
  if (message.to == Outgoing::To::completion_host)
    engine_.on_packet({h, message.extension_span(), message.payload}, now, replies_);
  else if (h.type == wire::PacketType::start)
    begin_epoch(message);
  else if (h.type == wire::PacketType::abort && message.to == Outgoing::To::job_group)
    engine_.end_epoch(h.job);
}

// Every rank gets a START, some more than one: only the first one of an epoch begins it.
void RootHost::begin_epoch(const Outgoing& start) {
  const wire::Header& h = start.header;
  if (engine_.epoch_of(h.job) == h.epoch) return;
  const auto info = wire::find_start_info(start.extension_span());
  // If START names a remote host, the engine here stands by, without a term.
  const bool stands_by = remote_ && remote_->serves(h.job);
  engine_.start_epoch(h.job, h.epoch, h.seq, info && !stands_by ? info->host_term : 0, true, true,
                      info ? std::optional(info->workers) : std::nullopt);
}

}  // namespace tributary::completion
