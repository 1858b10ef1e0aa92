// The completion engines of a root switch, inside the switch: carries packets between its
// aggregation engine and the completion engine, without a network between them.
//
//   aggregation engine ──To::completion_host──▶ completion engine
//           ▲                                        │
//           └── RESULT, PENDING, UNKNOWN, ABORT ─────┘
//
// Epochs begin and end with the START and ABORT that the aggregation engine sends its workers; all
// else goes by the same packets as to a host elsewhere. Pure; who may call it is as for the
// engines.
#pragma once

#include <utility>
#include <vector>

#include "aggregator/outbox.h"
#include "completion/engine.h"
#include "config/switch_config.h"

namespace tributary::completion {

class RootHost {
 public:
  explicit RootHost(const config::SwitchConfig& config);

  // Goes through what the aggregation engine wants sent, right after the call that wanted it, and
  // through what follows from that. `root(packet)` gives a packet to the aggregation engine, which
  // appends to `box`; it returns whether the packet was accepted. All messages of one call are
  // heard before the engine is called again, because then their payload may be gone.
  template <typename Root>
  void exchange(aggregator::Outbox& box, Instant now, Root&& root) {
    exchange_from(0, box, now, root);
  }
  // exchange(), and what is past its deadline here.
  template <typename Root>
  void expire(aggregator::Outbox& box, Instant now, Root&& root) {
    const std::size_t heard = exchange_from(0, box, now, root);
    engine_.expire(now, replies_);
    pass_on(root);
    exchange_from(heard, box, now, root);
  }

  [[nodiscard]] const Engine& engine() const { return engine_; }

 private:
  // Returns how many of the box's messages have been heard: all of them.
  template <typename Root>
  std::size_t exchange_from(std::size_t heard, aggregator::Outbox& box, Instant now, Root& root) {
    while (heard < box.items().size()) {
      for (; heard < box.items().size(); ++heard) hear(box.items()[heard], now);
      pass_on(root);
    }
    return heard;
  }
  void hear(const aggregator::Outgoing& message, Instant now);
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
  aggregator::Outbox replies_;
};

}  // namespace tributary::completion
