// A burst of packets through an engine, with the bytes that the next ones need on their way to the
// cache: a packet's own work is shorter than one miss, and each packet has several.
//
//   received ──prefetch_entry──▶ tombstone, sender         (whole burst, before any is handled)
//   some ahead ──prefetch_data──▶ payload, sum so far      (as each is handled)
//   handled ──end_burst──▶ sums                            (if nobody has read the payloads yet)
//
// Nothing of it changes what is decided, or any bit of a sum.
#pragma once

#include <cstddef>
#include <cstdint>

#include "aggregator/engine.h"
#include "aggregator/shard.h"

namespace tributary::aggregator {

// Where the bytes of a burst's payloads are.
enum class Payloads : std::uint8_t {
  in_cache,   // somebody has just read each: it is summed while it is there
  untouched,  // nobody has: sums are made in one go, as memory streams best
};

// packet_at(i) is the i-th packet, as a `const wire::Packet&`; handle(i) gives it to the engine.
template <typename PacketAt, typename Handle>
void handle_burst(Engine& engine, Payloads payloads, std::size_t count, PacketAt packet_at,
                  Handle handle) {
  if (payloads == Payloads::untouched) engine.begin_burst();
  for (std::size_t i = 0; i < count + Shard::kPacketsAhead; ++i) {
    if (i < count) engine.prefetch_data(packet_at(i));
    if (i >= Shard::kPacketsAhead) handle(i - Shard::kPacketsAhead);
  }
  if (payloads == Payloads::untouched) engine.end_burst();
}

}  // namespace tributary::aggregator
