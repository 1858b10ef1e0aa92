// Passes a burst of packets to an engine, and prefetches what the next packets need: a packet's own
// work is shorter than one cache miss, and each packet has several.
//
//   received ──prefetch_entry──▶ chunk entry, sender         (whole burst, before any is handled)
//   some ahead ──prefetch_data──▶ payload, sum so far      (as each is handled)
//
// If the payloads have not been read yet, sums should be delayed: Engine::begin_burst(). Neither
// this nor prefetching changes any decision, or any bit of a sum.
#pragma once

#include <cstddef>
#include <cstdint>

#include "aggregator/engine/engine.h"
#include "aggregator/shard/shard.h"

namespace tributary::aggregator {

// packet_at(i) is the i-th packet, as a `const wire::Packet&`; handle(i) gives it to the engine.
template <typename PacketAt, typename Handle>
void handle_burst(Engine& engine, Payloads payloads, std::size_t count, PacketAt packet_at,
                  Handle handle) {
  for (std::size_t i = 0; i < count + Shard::kPacketsAhead; ++i) {
    if (i < count) engine.prefetch_data(packet_at(i), payloads);
    if (i >= Shard::kPacketsAhead) handle(i - Shard::kPacketsAhead);
  }
}

}  // namespace tributary::aggregator
