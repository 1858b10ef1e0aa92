#include "bench/engine_round.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "aggregator/engine/burst.h"

namespace tributary::bench {
namespace {

// Reads the time-stamp counter, which costs little.
std::uint64_t ticks() {
#ifdef __x86_64__
  return __builtin_ia32_rdtsc();
#else
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

// Runs the batch through the engine, burst by burst; adds the stages' shares, in any unit.
void run_batch(EngineTraffic& traffic, std::span<const EngineTraffic::Received> batch,
               Deadlines deadlines, StageTimes& shares) {
  aggregator::Engine& engine = traffic.engine();
  aggregator::Outbox& out = traffic.outbox();
  std::array<wire::Packet, kBurst> parsed;
  while (!batch.empty()) {
    const auto burst = batch.first(std::min(kBurst, batch.size()));
    batch = batch.subspan(burst.size());
    const std::uint64_t begin = ticks();
    // As the switch does when it receives them: two cache lines hold the headers.
    for (const EngineTraffic::Received& r : burst) {
      __builtin_prefetch(r.bytes.data());
      __builtin_prefetch(r.bytes.data() + wire::kHeaderBytes);
    }
    for (std::size_t i = 0; i < burst.size(); ++i)
      if (wire::parse(burst[i].bytes, parsed[i]) != DropReason::none) return;
    const std::uint64_t ready = ticks();
    for (std::size_t i = 0; i < burst.size(); ++i) engine.prefetch_entry(parsed[i].header);
    const std::uint64_t fetched = ticks();
    // As handle_burst() with untouched payloads, but for the time between.
    engine.begin_burst();
    aggregator::handle_burst(
        engine, aggregator::Payloads::untouched, burst.size(),
        [&](std::size_t i) -> const wire::Packet& { return parsed[i]; },
        [&](std::size_t i) { engine.on_packet(parsed[i], *burst[i].from, traffic.now(), out); });
    const std::uint64_t decided = ticks();
    engine.end_burst();
    const std::uint64_t reduced = ticks();
    if (deadlines == Deadlines::each_burst) engine.expire(traffic.now(), out);
    traffic.note(out);
    shares.parse += static_cast<double>(ready - begin);
    shares.prefetch += static_cast<double>(fetched - ready);
    shares.reduce += static_cast<double>(reduced - decided);
    shares.decide += static_cast<double>(decided - fetched + (ticks() - reduced));
  }
}

}  // namespace

StageTimes run_engine(EngineTraffic& traffic, Deadlines deadlines) {
  StageTimes times;
  double seconds = 0;
  traffic.begin_round();
  const auto began = std::chrono::steady_clock::now();
  const std::uint64_t first_tick = ticks();
  for (auto batch = traffic.next_batch(); !batch.empty(); batch = traffic.next_batch()) {
    const double begin = thread_seconds();
    run_batch(traffic, batch, deadlines, times);
    seconds += thread_seconds() - begin;
    traffic.check();
  }
  const std::chrono::duration<double, std::nano> passed = std::chrono::steady_clock::now() - began;
  times.cycles_per_ns = static_cast<double>(ticks() - first_tick) / passed.count();
  // The stages were timed by a clock that runs on while others have the core.
  times.total = seconds * 1e9;
  const double scale = times.total / (times.parse + times.prefetch + times.decide + times.reduce);
  times.parse *= scale;
  times.prefetch *= scale;
  times.decide *= scale;
  times.reduce *= scale;
  return times;
}

}  // namespace tributary::bench
