#include "bench/engine_round.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "aggregator/burst.h"

namespace tributary::bench {
namespace {

// Packets that pass through the stages together, as a switch receives them.
constexpr std::size_t kBurst = 32;

using Ticks = std::chrono::steady_clock;

// Runs the batch through the engine, burst by burst; adds the stages' shares, in any unit.
void run_batch(EngineTraffic& traffic, std::span<const EngineTraffic::Received> batch,
               Deadlines deadlines, StageTimes& shares) {
  aggregator::Engine& engine = traffic.engine();
  aggregator::Outbox& out = traffic.outbox();
  std::array<wire::Packet, kBurst> parsed;
  while (!batch.empty()) {
    const auto burst = batch.first(std::min(kBurst, batch.size()));
    batch = batch.subspan(burst.size());
    const auto begin = Ticks::now();
    // As the switch does when it receives them: two cache lines hold the headers.
    for (const EngineTraffic::Received& r : burst) {
      __builtin_prefetch(r.bytes.data());
      __builtin_prefetch(r.bytes.data() + wire::kHeaderBytes);
    }
    for (std::size_t i = 0; i < burst.size(); ++i)
      if (wire::parse(burst[i].bytes, parsed[i]) != DropReason::count_) return;
    const auto ready = Ticks::now();
    for (std::size_t i = 0; i < burst.size(); ++i) engine.prefetch_entry(parsed[i].header);
    const auto fetched = Ticks::now();
    aggregator::handle_burst(
        engine, aggregator::Payloads::untouched, burst.size(),
        [&](std::size_t i) -> const wire::Packet& { return parsed[i]; },
        [&](std::size_t i) { engine.on_packet(parsed[i], *burst[i].from, traffic.now(), out); });
    if (deadlines == Deadlines::each_burst) engine.expire(traffic.now(), out);
    traffic.note(out);
    shares.parse += static_cast<double>((ready - begin).count());
    shares.prefetch += static_cast<double>((fetched - ready).count());
    shares.handle += static_cast<double>((Ticks::now() - fetched).count());
  }
}

}  // namespace

StageTimes run_engine(EngineTraffic& traffic, Deadlines deadlines) {
  StageTimes times;
  double seconds = 0;
  traffic.begin_round();
  for (auto batch = traffic.next_batch(); !batch.empty(); batch = traffic.next_batch()) {
    const double begin = thread_seconds();
    run_batch(traffic, batch, deadlines, times);
    seconds += thread_seconds() - begin;
    traffic.check();
  }
  // The stages were timed by a clock that runs on while others have the core.
  times.total = seconds * 1e9;
  const double scale = times.total / (times.parse + times.prefetch + times.handle);
  times.parse *= scale;
  times.prefetch *= scale;
  times.handle *= scale;
  return times;
}

}  // namespace tributary::bench
