#include "sim/scenario/held_worlds.h"

#include <algorithm>

#include "aggregator/chunk/payloads.h"

namespace tributary::sim {
namespace {

// Longer than what is short to the engine, of which fewer chunks wait
// (aggregator/chunk/fold_queue.h).
constexpr std::uint32_t kLongChunk = aggregator::kShortPayload + 16;

// So many ranks, and so many chunks at once, that a turn may bring more to be summed than can wait.
void make_crowd(Draw& draw, Scenario& s) {
  JobScenario& job = s.jobs.front();
  if (!s.switches.empty() || s.links.bits_per_second != 0 || job.servers > 0 || job.model ||
      job.overflow_storm)
    return;
  job.workers = 12;
  job.window = 128;
  job.shards = 1;
  if (draw.one_in(2)) job.chunk_bytes = kLongChunk;
  job.ops = std::min(job.ops, 6u);
  job.max_elements = job.chunk_bytes / 4 * 200;
  job.sums.slots = config::SlotMode::partition;
  job.sums.quota = job.sums.priority = 0;
  job.sums.order = wire::Order::fast;
  job.sums.bracketing.reset();
  job.sums.trigger = config::Trigger::streaming;
  s.turn_max = std::max(s.turn_max, Duration::us(150));
  s.held_frames = 128;
}

// Ranks that think for about as long as others wait for them, and turns that are so long that a
// result without the whole leaf B comes while its data waits:
// scenarios/tree-degraded-sums-wait.yaml.
void make_late_leaf(Draw& draw, Scenario& s) {
  JobScenario job;
  job.workers = 5;
  job.window = 64;
  job.chunk_bytes = kLongChunk;
  job.ops = draw.between(40, 80);
  job.max_elements = job.chunk_bytes / 4 * 62;
  job.depth = 1;
  job.op_timeout = Duration::seconds(20);
  job.deadline = Duration::ms(30);
  job.lease = Duration::seconds(3);
  job.join_timeout = Duration::seconds(10);
  job.think_max = Duration::ms(900);
  job.degraded_after = Duration::ms(400);
  job.sums.on_deadline = config::OnDeadline::escalate;
  Scenario late;
  late.name = s.name;
  late.seed = s.seed;
  late.jobs = {job};
  late.switches = {{"root", "", 0}, {"A", "root", 3}, {"B", "root", 2}};
  late.turn_max = late.tick = Duration::ms(100);
  late.held_frames = 128;
  late.heal_at = Duration::seconds(1);
  s = late;
}

// Turns in which much comes together, and ranks that end an epoch while it does.
void make_long_turns(Draw& draw, Scenario& s) {
  s.turn_max = draw.between(Duration::us(300), Duration::ms(4));
  if (draw.one_in(2)) s.jobs.front().disagree = true;
}

}  // namespace

// By a generator of its own, so that most worlds are what they would be if no sums waited.
void draw_held(Draw draw, Scenario& s) {
  if (draw.one_in(4)) return;
  s.held_frames = draw.one_in(2) ? 128 : draw.between(1, 128);
  if (draw.one_in(32)) return make_late_leaf(draw, s);
  if (draw.one_in(16)) return make_crowd(draw, s);
  if (draw.one_in(4)) make_long_turns(draw, s);
}

}  // namespace tributary::sim
