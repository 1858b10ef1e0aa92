#include "bench/engine_bare.h"

#include <algorithm>
#include <cstring>

#include "aggregator/chunk/fold_queue.h"
#include "aggregator/chunk/payloads.h"
#include "aggregator/kernels/reduce.h"
#include "aggregator/shard/shard.h"
#include "bench/engine_round.h"

namespace tributary::bench {
namespace {

// By how many packets the engine fetches ahead of their sums, those that wait included.
std::size_t packets_ahead(std::size_t payload) {
  return aggregator::Shard::kPacketsAhead + aggregator::FoldQueue::most_chunks(payload);
}

// A side without an engine: calls op(slot memory, payload, first) for every packet of a round.
class Bare {
 public:
  Bare(EngineTraffic& traffic, std::span<std::byte> slots, bool looks_ahead)
      : traffic_(traffic), slots_(slots), looks_ahead_(looks_ahead) {}

  // right(packet, slot memory): what the last contribution to it has left there.
  template <typename Operation, typename Right>
  BareTimes run(Operation op, Right right, bool& verified) {
    BareTimes times;
    traffic_.begin_round();
    for (auto batch = traffic_.next_batch(); !batch.empty(); batch = traffic_.next_batch()) {
      const double begin = thread_seconds();
      for (auto rest = batch; !rest.empty();) {
        const auto burst = rest.first(std::min(kBurst, rest.size()));
        rest = rest.subspan(burst.size());
        run_burst(burst, op);
      }
      const double ns = (thread_seconds() - begin) * 1e9;
      times.total += ns;
      if (batch.front().last) times.last += ns;
      for (const EngineTraffic::Received& r : batch)
        if (r.last) verified = verified && right(r, slot_of(r));
    }
    return times;
  }

 private:
  template <typename Operation>
  void run_burst(std::span<const EngineTraffic::Received> burst, Operation op) {
    const std::size_t ahead = looks_ahead_ ? packets_ahead(traffic_.load().payload) : 0;
    for (std::size_t i = 0; i < burst.size() + ahead; ++i) {
      if (looks_ahead_ && i < burst.size()) look_at(burst[i]);
      if (i < ahead) continue;
      const EngineTraffic::Received& r = burst[i - ahead];
      op(slot_of(r).data(), payload_of(r).data(), r.first);
      __asm__ volatile("" ::: "memory");  // every copy counts, not only the last
    }
  }
  void look_at(const EngineTraffic::Received& r) const {
    aggregator::prefetch_start(payload_of(r).data(), traffic_.load().payload);
    aggregator::prefetch_start(slot_of(r).data(), traffic_.load().payload);
  }
  [[nodiscard]] std::span<std::byte> slot_of(const EngineTraffic::Received& r) const {
    const std::size_t payload = traffic_.load().payload;
    return slots_.subspan(std::size_t{r.slot} * payload, payload);
  }
  [[nodiscard]] static std::span<const std::byte> payload_of(const EngineTraffic::Received& r) {
    return r.bytes.subspan(wire::kHeaderBytes);
  }

  EngineTraffic& traffic_;
  std::span<std::byte> slots_;
  bool looks_ahead_;
};

}  // namespace

BareTimes run_copies(EngineTraffic& traffic, std::span<std::byte> slots, bool& verified) {
  const std::size_t payload = traffic.load().payload;
  return Bare(traffic, slots, false)
      .run([payload](std::byte* slot, const std::byte* data,
                     bool /*first*/) { std::memcpy(slot, data, payload); },
           [](const EngineTraffic::Received& r, std::span<const std::byte> slot) {
             return std::memcmp(slot.data(), r.bytes.data() + wire::kHeaderBytes, slot.size()) == 0;
           },
           verified);
}

BareTimes run_kernels(EngineTraffic& traffic, std::span<std::byte> slots, bool& verified) {
  const auto* kernels = aggregator::find_kernels(wire::DType::float32, wire::ReduceOp::sum,
                                                 aggregator::Arithmetic::saturating);
  const std::size_t elements = traffic.load().payload / sizeof(float);
  return Bare(traffic, slots, true)
      .run(
          [&](std::byte* slot, const std::byte* data, bool first) {
            if (first)
              kernels->open(slot, data, elements);
            else
              kernels->fold(slot, data, elements);
          },
          [&](const EngineTraffic::Received& r, std::span<const std::byte> slot) {
            return traffic.is_sum(r.slot, slot);
          },
          verified);
}

}  // namespace tributary::bench
