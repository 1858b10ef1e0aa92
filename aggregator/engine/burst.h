// A burst of packets through an engine, with the bytes that the next ones need on their way to the
// cache: a packet's own work is shorter than one miss, and each packet has several.
//
//   received ──prefetch_entry──▶ chunk entry, sender         (whole burst, before any is handled)
//   some ahead ──prefetch_data──▶ payload, sum so far      (as each is handled)
//
// Where nobody has read the payloads yet, sums had better wait: Engine::begin_burst(). Nothing of
// it changes what is decided, or any bit of a sum.
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
