#include "dataplane/loop/loop_drain.h"

#include <chrono>
#include <set>
#include <stdexcept>
#include <thread>

namespace tributary::dataplane {
namespace {

// An epoch takes at least some round trips to end.
constexpr auto kLookAgain = std::chrono::milliseconds(1);

std::set<std::uint32_t> look(PacketLoops& packet_loops, const std::vector<std::uint32_t>& jobs,
                             aggregator::Holder by, Duration patience) {
  std::set<std::uint32_t> still;
  for (const auto& packet_loop : packet_loops) {
    const auto here = packet_loop->mailbox().ask(
        [at = packet_loop.get(), jobs, by](Instant now) { return at->drain(jobs, by, now); },
        patience);
    still.insert(here.begin(), here.end());
  }
  return still;
}

}  // namespace

std::vector<std::uint32_t> drain_jobs(PacketLoops& packet_loops,
                                      const std::vector<std::uint32_t>& jobs, aggregator::Holder by,
                                      Duration at_most, Duration patience) {
  if (jobs.empty()) return {};
  const auto last = std::chrono::steady_clock::now() + std::chrono::nanoseconds(at_most.to_ns());
  try {
    while (true) {
      const std::set<std::uint32_t> still = look(packet_loops, jobs, by, patience);
      if (still.empty() || std::chrono::steady_clock::now() >= last)
        return {still.begin(), still.end()};
      std::this_thread::sleep_for(kLookAgain);
    }
  } catch (const std::runtime_error&) {
    release_jobs(packet_loops, jobs, by, Duration());
    throw;
  }
}

// A loop that is silent does it when it wakes up.
void release_jobs(PacketLoops& packet_loops, const std::vector<std::uint32_t>& jobs,
                  aggregator::Holder by, Duration patience) {
  for (const auto& packet_loop : packet_loops) {
    const auto done = packet_loop->mailbox().post(
        [at = packet_loop.get(), jobs, by](Instant) { at->release(jobs, by); });
    done.wait_for(std::chrono::nanoseconds(patience.to_ns()));
  }
}

}  // namespace tributary::dataplane
