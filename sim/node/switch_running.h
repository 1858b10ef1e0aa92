// The part of a simulated switch that a crash takes away.
#pragma once

#include <optional>
#include <vector>

#include "completion/host/root_host.h"
#include "config/change/change.h"
#include "dataplane/udp/address_book.h"
#include "sim/node/switch_node.h"

namespace tributary::sim {

struct SwitchNode::Running {
  // As in dataplane/io/lane.h.
  static constexpr std::uint32_t kRefusalsPerSecond = 1000;
  static constexpr std::uint32_t kRefusalBurst = 256;

  Running(const SwitchOptions& o, std::uint16_t epoch, std::uint64_t nonce_seed)
      : engine(o.config, dataplane::kUdpAddresses,
               {.epoch = epoch, .seq = o.first_seq, .nonce_seed = nonce_seed}),
        names(o.config, nonce_seed),
        names_outbox(names.outbox_capacity()),
        host(o.config, &engine, nonce_seed),
        nonce(nonce_seed),
        outbox(engine.outbox_capacity() + host.outbox_capacity()),
        udp(o.config, o.config),
        senders(o.config),
        fdb(o.config.forwarding.fdb_entries, o.config.forwarding.fdb_ageing, o.config.ports.size(),
            o.seed),
        refusals(o.config.ports.size(), dataplane::TokenBucket(kRefusalsPerSecond, kRefusalBurst)) {
    if (config::hosts_engines(o.config))
      hosted.emplace(o.config, dataplane::kUdpAddresses, nonce_seed);
  }

  auto root(Instant now) {
    return [this, now](const wire::Packet& p) { return engine.on_host_packet(p, now, outbox); };
  }
  void exchange(Instant now) { host.exchange(outbox, now, root(now)); }
  // True when there is something to send.
  bool expire(Instant now) {
    engine.expire(now, outbox);
    host.expire(outbox, now, root(now));
    return !outbox.items().empty();
  }
  // As Aggregation::apply() does it; in between `send` sends what is in the outbox.
  template <typename Send>
  void apply(const config::SwitchConfig& next, Instant now, Send send) {
    const auto engine_change = engine.prepare(next);
    nonce += 1;
    const auto host_change = host.prepare(next, nonce);
    const std::size_t room = aggregator::Engine::outbox_capacity(next) +
                             completion::RootHost::outbox_capacity(*host_change);
    std::optional<completion::SwitchHost> hosted_next;
    if (config::hosts_engines(next))
      hosted_next.emplace(next, dataplane::kUdpAddresses, nonce, hosted ? &*hosted : nullptr);
    engine.quiesce(*engine_change, outbox);
    exchange(now);
    send();
    engine.apply(*engine_change);
    aggregator::NamedJobs named(next);
    names.apply(named);
    host.apply(*host_change);
    if (hosted && hosted_next) hosted_next->adopt(*hosted);
    std::swap(hosted, hosted_next);
    udp = dataplane::UdpFrontEnd(next, next);
    senders = dataplane::JobSenders(next);
    outbox = aggregator::Outbox(room);
  }
  aggregator::Engine engine;
  aggregator::NameEngine names;
  aggregator::Outbox names_outbox;
  completion::RootHost host;
  std::optional<completion::SwitchHost> hosted;
  std::uint64_t nonce;  // of the jobs that come next
  aggregator::Outbox outbox;
  dataplane::UdpFrontEnd udp;
  dataplane::JobSenders senders;
  dataplane::Fdb fdb;
  std::vector<dataplane::TokenBucket> refusals;
};

}  // namespace tributary::sim
