// The completion engines inside a root switch: carries packets between the aggregation engine and
// the completion engine, without a network between them.
//
//   aggregation engine ──To::completion_host──▶ completion engine
//           ▲                                        │
//           └── RESULT, PENDING, UNKNOWN, ABORT ─────┘
//
// RemoteHosts handles jobs with completion hosts outside the root. If a job has no such host left,
// it comes back here, if its configuration names the root.
//
// Epochs begin and end with the START and ABORT that the aggregation engine sends to workers; all
// other packets are those that a remote host would get. Pure; threads and owner are those of the
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
  // `root`: the aggregation engine, for jobs with hosts outside; `nonce` of this incarnation.
  // Without `root`, all hosts are here.
  explicit RootHost(const config::SwitchConfig& config, aggregator::Engine* root = nullptr,
                    std::uint64_t nonce = 0);

  // Handles the messages of one call of the aggregation engine, right after it, and the messages
  // that follow from them. `root(packet)` passes a packet to the aggregation engine, which appends
  // to `box`, and returns whether the packet was accepted. All messages of one call are handled
  // before the engine is called again, because their payload may be gone then.
  template <typename Root>
  void exchange(aggregator::Outbox& box, Instant now, Root&& root) {
    if (remote_) remote_->sent();
    exchange_from(0, box, now, root);
  }
  // Like exchange(), and also ends what is past its deadline here.
  template <typename Root>
  void expire(aggregator::Outbox& box, Instant now, Root&& root) {
    if (remote_) remote_->sent();
    const std::size_t heard = exchange_from(0, box, now, root);
    engine_.expire(now, replies_);
    pass_on(root);
    if (remote_) remote_->expire(now, box);
    exchange_from(heard, box, now, root);
  }

  // Another configuration, see Engine::prepare(); apply() comes after the aggregation engine's.
  struct Change;
  // `nonce` of the jobs that come.
  [[nodiscard]] std::shared_ptr<Change> prepare(const config::SwitchConfig& next,
                                                std::uint64_t nonce = 0) const;
  void apply(Change& change);

  // True for a packet of a remote host, which is not for the aggregation engine.
  [[nodiscard]] bool concerns(const wire::Packet& packet) const {
    return remote_ && remote_->concerns(packet);
  }
  aggregator::Decision on_packet(const wire::Packet& packet, const Endpoint& from, Instant now,
                                 aggregator::Outbox& box) {
    return remote_->on_packet(packet, from, now, box);
  }

  // See RemoteHosts; call exchange() afterwards.
  HostPlacement place_host(const HostRanking& ranking, Instant now, aggregator::Outbox& box) {
    return remote_ ? remote_->place_host(ranking, now, box) : HostPlacement{};
  }

  [[nodiscard]] const Engine& engine() const { return engine_; }
  // nullptr if no job has remote hosts.
  [[nodiscard]] const RemoteHosts* remote() const {
    return remote_ && remote_->job_count() != 0 ? &*remote_ : nullptr;
  }
  // The most messages that one call can append, without the aggregation engine's own.
  [[nodiscard]] std::size_t outbox_capacity() const {
    return engine_.outbox_capacity() + (remote_ ? remote_->outbox_capacity() : 0);
  }
  [[nodiscard]] static std::size_t outbox_capacity(const Change& next);

 private:
  // Returns how many of the box's messages have been handled: all of them.
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
