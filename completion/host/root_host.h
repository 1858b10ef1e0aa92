// The completion engines of a root switch, inside the switch: carries packets between its
// aggregation engine and the completion engine, without a network between them.
//
//   aggregation engine ──To::completion_host──▶ completion engine
//           ▲                                        │
//           └── RESULT, PENDING, UNKNOWN, ABORT ─────┘
//
// A job whose completion hosts are elsewhere is RemoteHosts' affair; what it has no host for any
// more comes back here, where the job's configuration names the root.
//
// Epochs begin and end with the START and ABORT that the aggregation engine sends its workers; all
// else goes by the same packets as to a host elsewhere. Pure; who may call it is as for the
// engines.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "aggregator/chunk/outbox.h"
#include "completion/engine/engine.h"
#include "completion/host/remote_hosts.h"
#include "config/model/switch_config.h"

namespace tributary::completion {

class RootHost {
 public:
  // `root`: the aggregation engine, for jobs with hosts elsewhere; `nonce` of this incarnation.
  // Without it there are none.
  explicit RootHost(const config::SwitchConfig& config, aggregator::Engine* root = nullptr,
                    std::uint64_t nonce = 0);

  // Goes through what the aggregation engine wants sent, right after the call that wanted it, and
  // through what follows from that. `root(packet)` gives a packet to the aggregation engine, which
  // appends to `box`; it returns whether the packet was accepted. All messages of one call are
  // heard before the engine is called again, because then their payload may be gone.
  template <typename Root>
  void exchange(aggregator::Outbox& box, Instant now, Root&& root) {
    if (remote_) remote_->sent();
    exchange_from(0, box, now, root);
  }
  // exchange(), and what is past its deadline here.
  template <typename Root>
  void expire(aggregator::Outbox& box, Instant now, Root&& root) {
    if (remote_) remote_->sent();
    const std::size_t heard = exchange_from(0, box, now, root);
    engine_.expire(now, replies_);
    pass_on(root);
    if (remote_) remote_->expire(now, box);
    exchange_from(heard, box, now, root);
  }

  // Another configuration, see Engine::prepare(). Hosts elsewhere stay who they are.
  struct Change;
  [[nodiscard]] std::shared_ptr<Change> prepare(const config::SwitchConfig& next) const;
  void apply(Change& change);

  // A packet of a host elsewhere, which is none of the aggregation engine's.
  [[nodiscard]] bool concerns(const wire::Packet& packet) const {
    return remote_ && remote_->concerns(packet);
  }
  aggregator::Decision on_packet(const wire::Packet& packet, const Endpoint& from, Instant now,
                                 aggregator::Outbox& box) {
    return remote_->on_packet(packet, from, now, box);
  }

  // See RemoteHosts; exchange() follows.
  HostPlacement place_host(const HostRanking& ranking, Instant now, aggregator::Outbox& box) {
    return remote_ ? remote_->place_host(ranking, now, box) : HostPlacement{};
  }

  [[nodiscard]] const Engine& engine() const { return engine_; }
  // nullptr: no job has hosts elsewhere.
  [[nodiscard]] const RemoteHosts* remote() const { return remote_ ? &*remote_ : nullptr; }
  // What one call can append at most, besides what the aggregation engine does.
  [[nodiscard]] std::size_t outbox_capacity() const {
    return engine_.outbox_capacity() + (remote_ ? remote_->outbox_capacity() : 0);
  }
  [[nodiscard]] std::size_t outbox_capacity(const Change& next) const;

 private:
  // Returns how many of the box's messages have been heard: all of them.
  template <typename Root>
  std::size_t exchange_from(std::size_t heard, aggregator::Outbox& box, Instant now, Root& root) {
    while (heard < box.items().size()) {
      for (; heard < box.items().size(); ++heard)
        if (!remote_ || !remote_->intercept(box.item(heard), now, box))
          intercept(box.item(heard), now);
      pass_on(root);
    }
    return heard;
  }
  void intercept(const aggregator::Outgoing& message, Instant now);
  void begin_epoch(const aggregator::Outgoing& start);
  template <typename Root>
  void pass_on(Root& root) {
    for (const aggregator::Outgoing& reply : replies_.items()) {
      const wire::Header& h = reply.header;
      const bool accepted = root(wire::Packet{h, reply.extension_span(), reply.payload});
      if (accepted && h.type == wire::PacketType::result)
        engine_.result_accepted(h.job, h.shard, h.seq);
    }
    replies_.clear();
  }

  Engine engine_;
  std::optional<RemoteHosts> remote_;
  aggregator::Outbox replies_;
};

}  // namespace tributary::completion
