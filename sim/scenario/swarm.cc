#include "sim/scenario/swarm.h"

#include <algorithm>
#include <array>
#include <span>

#include "sim/scenario/draw.h"
#include "sim/scenario/held_worlds.h"
#include "sim/scenario/resized_worlds.h"

namespace tributary::sim {
namespace {

// Least deadline of jobs whose epoch ends with it: longer than any rank computes, or waits before
// it asks.
constexpr Duration kLeastDeadline = Duration::ms(200);
// Switches from a root to a leaf.
constexpr std::uint32_t kMostLevels = 4;

// Four times as many as any world of the first 14,000 seeds needs, at least.
constexpr std::uint64_t kMostEvents = 2'000'000;

// Any tree of brackets over the ranks, in any order.
config::Bracket draw_bracketing(Draw& draw, std::uint32_t workers) {
  config::Bracket all;
  for (std::uint32_t rank = 0; rank < workers; ++rank) {
    const std::uint32_t place = draw.between(0, rank);
    all.items.insert(all.items.begin() + place, config::Bracket{{}, rank});
  }
  for (std::uint32_t folds = draw.between(0, 3); folds > 0 && all.items.size() > 2; --folds) {
    const std::uint32_t first = draw.between(0, static_cast<std::uint32_t>(all.items.size()) - 2);
    const auto at = all.items.begin() + first;
    config::Bracket pair{{at[0], at[1]}, 0};
    all.items.erase(at);
    all.items[first] = std::move(pair);
  }
  return all;
}

void draw_sums(Draw& draw, JobScenario& job) {
  config::JobConfig& sums = job.sums;
  if (draw.one_in(2)) {
    sums.order = wire::Order::reproducible;
    if (!draw.one_in(3)) sums.bracketing = draw_bracketing(draw, job.workers);
  }
  if (draw.one_in(4)) sums.trigger = config::Trigger::collect;
  if (draw.one_in(4) && !sums.bracketing) sums.partials = wire::Partials::narrow;
  if (draw.one_in(4)) sums.arithmetic = wire::Arithmetic::modular;
  if (!draw.one_in(3)) {
    sums.slots = config::SlotMode::dynamic;
    if (draw.one_in(2)) sums.quota = draw.one_in(2) ? 1 : draw.between(1, job.window);
    if (draw.one_in(2)) sums.priority = static_cast<std::uint8_t>(draw.between(0, 2));
  }
  if (draw.one_in(4)) {
    sums.verify = true;
    if (draw.one_in(2)) sums.release = config::Release::returned;
  }
  if (!draw.one_in(2)) sums.on_deadline = config::OnDeadline::abort;
  if (sums.order == wire::Order::fast && draw.one_in(2))
    sums.completion_trigger = config::Trigger::streaming;
}

// So small that dynamic jobs meet in it.
void draw_pool(Draw& draw, Scenario& s) {
  std::uint32_t largest = 0;
  for (const JobScenario& job : s.jobs)
    if (job.sums.slots == config::SlotMode::dynamic) largest = std::max(largest, job.window);
  if (largest == 0) return;
  s.pool_slots = largest + (draw.one_in(2) ? 0 : draw.between(1, largest));
  if (draw.one_in(2)) s.preempt_idle = draw.between(Duration::us(100), Duration::ms(50));
}

// Often so soon that a slot whose last contribution is only late can be lost.
void draw_preemption(Draw& draw, Scenario& s) {
  s.preempt_busy = s.pool_slots > 0 && draw.one_in(2);
  if (s.pool_slots > 0 && draw.one_in(3))
    s.preempt_idle = draw.between(Duration::us(100), Duration::ms(2));
}

JobScenario draw_job(Draw& draw, std::uint32_t id) {
  JobScenario job;
  job.id = id;
  job.workers = draw.one_in(6) ? 1 : draw.between(2, 5);
  job.window = draw.one_of(std::array{1u, 1u, 2u, 2u, 4u, 8u, 16u});
  job.chunk_bytes = draw.one_of(std::array{8u, 8u, 16u, 64u, 256u, 1024u});
  job.shards = draw.one_of(std::array<std::uint8_t, 6>{1, 1, 2, 3, 4, 8});
  job.integrity = draw.one_in(2) ? wire::Integrity::crc32c : wire::Integrity::udp_checksum;
  job.deadline = draw.between(kLeastDeadline, Duration::ms(1500));
  job.lease = Duration::ms(draw.between(300, 1500));
  job.op_timeout = draw.between(Duration::ms(500), Duration::seconds(4));
  job.join_timeout = Duration::seconds(draw.between(8, 12));
  job.ops = draw.between(1, 24);
  // A few chunks per shard are enough to go round a tiny window several times.
  const std::uint32_t per_round = job.chunk_bytes / 4 * job.shards * job.window;
  job.max_elements = std::min(draw.between(1, 3 * per_round), 2000u);
  job.depth = draw.between(1, 4);
  if (draw.one_in(2)) job.loss_group = draw.one_of(std::array{2u, 4u, 8u, 64u});
  if (draw.one_in(2)) job.think_max = draw.between(Duration::us(10), Duration::ms(40));
  job.disagree = draw.one_in(24);
  draw_sums(draw, job);
  // So short that whatever is lost once makes a chunk late.
  if (job.sums.on_deadline == config::OnDeadline::escalate && draw.one_in(2))
    job.deadline = draw.between(Duration::ms(1), Duration::ms(60));
  return job;
}

LinkQuality draw_links(Draw& draw) {
  LinkQuality l;
  l.delay_min = draw.between(Duration::us(1), Duration::us(100));
  l.delay_max = l.delay_min + draw.between(Duration::us(0), Duration::us(400));
  const auto rate = [&](std::uint32_t most) {
    return draw.one_in(2) ? 0u : draw.between(0, draw.one_in(3) ? most : most / 10);
  };
  l.loss_ppm = rate(200'000);
  l.duplicate_ppm = rate(200'000);
  l.reorder_ppm = rate(300'000);
  l.corrupt_ppm = rate(100'000);
  l.reorder_delay_max = draw.one_in(4) ? draw.between(Duration::ms(1), Duration::ms(400))
                                       : draw.between(Duration::us(10), Duration::ms(5));
  if (draw.one_in(3)) {
    l.bits_per_second = std::uint64_t{draw.between(10, 1000)} * 1'000'000;
    l.queue_bytes = draw.one_in(3) ? draw.between(3000, 6000) : draw.between(3000, 60'000);
  }
  return l;
}

void draw_script(Draw& draw, Scenario& s) {
  if (draw.one_in(3)) return;
  std::uint32_t workers = 0;
  for (const JobScenario& job : s.jobs) workers += job.workers;
  const std::uint32_t entries = draw.between(1, 9);
  for (std::uint32_t i = 0; i < entries; ++i) {
    ScriptEntry e;
    e.action = draw.one_of(std::array{ScriptAction::crash, ScriptAction::crash, ScriptAction::pause,
                                      ScriptAction::pause, ScriptAction::partition,
                                      ScriptAction::link_down, ScriptAction::exclude,
                                      ScriptAction::exclude});
    const std::uint32_t who = draw.between(0, 5);
    e.target = who < 3   ? ScriptTarget::worker
               : who < 5 ? ScriptTarget::aggregator
                         : ScriptTarget::access;
    if (s.servers.count > 0 && draw.one_in(2)) e.target = ScriptTarget::server;
    if (e.target == ScriptTarget::access && s.access_switches == 0) e.target = ScriptTarget::worker;
    if (e.action == ScriptAction::exclude && e.target != ScriptTarget::aggregator)
      e.target = ScriptTarget::worker;
    e.index = draw.between(0, workers - 1);
    // Most of the traffic comes early.
    e.at = draw.one_in(2) ? draw.between(Duration::us(100), Duration::ms(60))
                          : draw.between(Duration::ms(1), s.heal_at);
    e.length = draw.one_in(3) ? draw.between(Duration::ms(100), Duration::ms(2500))
                              : draw.between(Duration::us(50), Duration::ms(100));
    if (e.action == ScriptAction::crash && e.target == ScriptTarget::worker && draw.one_in(8))
      e.length = Duration();  // for good
    if (e.action == ScriptAction::exclude && draw.one_in(2)) e.length = Duration();
    s.script.push_back(e);
  }
  std::stable_sort(s.script.begin(), s.script.end(),
                   [](const ScriptEntry& a, const ScriptEntry& b) { return a.at < b.at; });
  for (const ScriptEntry& e : s.script) s.heal_at = std::max(s.heal_at, e.at + e.length);
}

// Parameter servers, and jobs that name some of them.
void draw_servers(Draw& draw, Scenario& s) {
  if (!draw.one_in(2)) return;
  s.servers.count = draw.between(1, 3);
  s.servers.lease = draw.between(Duration::ms(40), Duration::ms(150));
  s.servers.heartbeat = Duration::ns(s.servers.lease.to_ns() / draw.between(4, 8));
  s.servers.tight = draw.one_in(3);
  s.servers.spread = draw.one_in(2);
  s.servers.checkpoint_steps = draw.between(0, 3);
  for (JobScenario& job : s.jobs) {
    if (draw.one_in(4)) continue;
    job.servers = draw.between(1, s.servers.count);
    job.root_too = draw.one_in(2);
    if (job.sums.reductions.empty() && !job.overflow_storm && draw.one_in(3)) {
      job.model = true;
      job.servers = 1;
      job.root_too = false;  // the server would refuse
      job.depth = 1;
      job.ops = std::max(job.ops, 6u);
    }
    // So that every chunk is theirs, and waits for them.
    if (draw.one_in(2)) continue;
    job.sums.verify = true;
    job.sums.release = draw.one_in(2) ? config::Release::sent : config::Release::returned;
  }
}

std::string switch_name(std::uint32_t index) {
  std::string name = "s";
  return name += std::to_string(index);
}

// Brackets the ranks at and below a switch: each switch one bracket, in any order and with one more
// bracket here and there. `homes`: the switch of each rank.
config::Bracket bracket_of_tree(Draw& draw, const std::vector<TreeSwitch>& tree, std::size_t place,
                                std::span<const std::size_t> homes) {
  config::Bracket all;
  const auto insert = [&](config::Bracket item) {
    const std::uint32_t at = draw.between(0, static_cast<std::uint32_t>(all.items.size()));
    all.items.insert(all.items.begin() + at, std::move(item));
  };
  for (std::uint32_t rank = 0; rank < homes.size(); ++rank)
    if (homes[rank] == place) insert({{}, rank});
  for (std::size_t below = place + 1; below < tree.size(); ++below) {
    if (tree[below].parent != tree[place].name) continue;
    config::Bracket inner = bracket_of_tree(draw, tree, below, homes);
    if (!inner.items.empty()) insert(std::move(inner));
  }
  if (all.items.size() > 2 && draw.one_in(2)) {
    const std::uint32_t first = draw.between(0, static_cast<std::uint32_t>(all.items.size()) - 2);
    const auto at = all.items.begin() + first;
    config::Bracket pair{{at[0], at[1]}, 0};
    all.items.erase(at);
    all.items[first] = std::move(pair);
  }
  return all;
}

// Adapts a job that was drawn for one switch: nearly all its settings fit a tree, too.
void fit_to_tree(Draw& draw, const std::vector<TreeSwitch>& tree, JobScenario& job,
                 std::span<const std::size_t> homes) {
  config::JobConfig& sums = job.sums;
  if (sums.on_deadline == config::OnDeadline::abort)
    job.deadline = std::max(job.deadline, kLeastDeadline);
  if (sums.order == wire::Order::reproducible) sums.partials = wire::Partials::wide;
  if (sums.bracketing) sums.bracketing = bracket_of_tree(draw, tree, 0, homes);
  sums.release = draw.one_in(2) ? config::Release::returned : config::Release::sent;
}

// Some worlds have a tree of up to six switches, with workers anywhere.
void draw_tree(Draw& draw, Scenario& s) {
  s.access_switches = 0;
  const std::uint32_t switches = draw.between(2, 6);
  std::vector<std::uint32_t> levels;
  for (std::uint32_t i = 0; i < switches; ++i) {
    TreeSwitch sw;
    sw.name = switch_name(i);
    std::uint32_t above = i == 0 ? 0 : draw.between(0, i - 1);
    if (i > 0 && levels[above] + 1 >= kMostLevels) above = 0;
    if (i > 0) sw.parent = switch_name(above);
    levels.push_back(i == 0 ? 0 : levels[above] + 1);
    s.switches.push_back(std::move(sw));
  }
  std::uint32_t workers = 0;
  for (const JobScenario& job : s.jobs) workers += job.workers;
  for (std::uint32_t w = 0; w < workers; ++w) ++s.switches[draw.between(0, switches - 1)].workers;
  std::vector<std::size_t> homes;
  for (std::size_t i = 0; i < s.switches.size(); ++i)
    homes.insert(homes.end(), s.switches[i].workers, i);
  std::size_t first = 0;
  for (JobScenario& job : s.jobs) {
    fit_to_tree(draw, s.switches, job, std::span(homes).subspan(first, job.workers));
    first += job.workers;
  }
  // Many faults of switches are then those of sub-switches. Those come back: a job's servers may be
  // behind them.
  for (ScriptEntry& e : s.script)
    if (e.length > Duration() && (e.target == ScriptTarget::access || draw.one_in(3)))
      e.target = ScriptTarget::aggregator;
}

// How many switches a path from the root to a leaf has at most, when each is below an earlier one.
std::size_t levels_of(const std::vector<std::size_t>& above) {
  std::vector<std::size_t> levels = {1};
  for (std::size_t i = 1; i < above.size(); ++i) levels.push_back(levels[above[i]] + 1);
  return *std::max_element(levels.begin(), levels.end());
}

// Most of the moves become those of switches, as far as the tree gets no deeper than others.
void draw_moved_switches(Draw& draw, Scenario& s) {
  std::vector<std::size_t> above;
  for (const TreeSwitch& sw : s.switches) {
    const auto named = [&](const TreeSwitch& other) { return other.name == sw.parent; };
    const auto parent = std::find_if(s.switches.begin(), s.switches.end(), named);
    above.push_back(static_cast<std::size_t>(parent - s.switches.begin()));
  }
  for (TreeChange& c : s.changes) {
    if (draw.one_in(4)) continue;
    const std::uint32_t moved = draw.between(1, static_cast<std::uint32_t>(s.switches.size()) - 1);
    std::vector<std::size_t> next = above;
    next[moved] = draw.between(0, moved - 1);
    if (levels_of(next) > kMostLevels) continue;
    c.moved_switch = moved;
    c.to = static_cast<std::uint32_t>(next[moved]);
    above = std::move(next);
  }
}

// Workers and switches that move from switch to switch while ops run.
void draw_changes(Draw& draw, Scenario& s) {
  std::uint32_t workers = 0;
  for (JobScenario& job : s.jobs) {
    workers += job.workers;
    job.sums.bracketing.reset();  // it fits one tree only
    job.servers = 0;              // servers do not hear of changes
    job.model = false;
  }
  s.servers = {};
  for (ScriptEntry& e : s.script)
    if (e.target == ScriptTarget::server) e.target = ScriptTarget::aggregator;
  const auto switches = static_cast<std::uint32_t>(s.switches.size());
  for (std::uint32_t i = draw.between(1, 5); i > 0; --i)
    s.changes.push_back({draw.one_in(2) ? draw.between(Duration::us(100), Duration::ms(60))
                                        : draw.between(Duration::ms(1), s.heal_at),
                         draw.between(0, workers - 1), draw.between(0, switches - 1),
                         draw.between(Duration(), Duration::ms(draw.one_in(2) ? 1 : 100))});
  std::stable_sort(s.changes.begin(), s.changes.end(),
                   [](const TreeChange& a, const TreeChange& b) { return a.at < b.at; });
  if (switches > 2) draw_moved_switches(draw, s);
  for (const TreeChange& c : s.changes) s.heal_at = std::max(s.heal_at, c.at + c.spread);
}

// Completion hosts on switches below, which stand still and are cut off like all others, and
// elections while ops run.
void draw_host_switches(Draw& draw, Scenario& s) {
  bool any = false;
  for (JobScenario& job : s.jobs) {
    if (job.model || draw.one_in(3)) continue;
    any = true;
    job.host_switches = draw.between(1, 3);
    job.root_too = draw.one_in(2);
    job.host_choice = static_cast<config::HostChoice>(draw.between(0, 5));
    if (draw.one_in(2)) continue;
    job.sums.verify = true;
    job.sums.release = draw.one_in(2) ? config::Release::sent : config::Release::returned;
  }
  if (!any) return;
  if (s.servers.count == 0) s.servers.lease = draw.between(Duration::ms(40), Duration::ms(150));
  s.servers.heartbeat = Duration::ns(s.servers.lease.to_ns() / draw.between(4, 8));
  s.hostile.packets = 0;  // a stranger on the way can replay what a host said
  for (std::uint32_t i = draw.between(0, 4); i > 0; --i)
    s.script.push_back({ScriptAction::elect, ScriptTarget::aggregator, draw.between(0, 3),
                        draw.between(Duration::ms(1), Duration::ms(200)), Duration()});
  std::stable_sort(s.script.begin(), s.script.end(),
                   [](const ScriptEntry& a, const ScriptEntry& b) { return a.at < b.at; });
}

// Where nothing is lost any more once the network has healed, chunks that miss a slot may have
// little time, so that some are late at the completion engine. But where a server has memory for
// one chunk only, each waits for the one before, and a job that ends with its first late one would
// do so for ever.
void make_hasty(Draw& draw, Scenario& s) {
  if (s.links.bits_per_second != 0) return;
  for (JobScenario& job : s.jobs)
    if (job.sums.slots == config::SlotMode::dynamic && !draw.one_in(4)) {
      const Duration hasty = draw.between(Duration::ms(60), Duration::ms(90));
      const bool in_turn = s.servers.tight && job.servers > 0;
      if (!in_turn || job.sums.on_deadline != config::OnDeadline::abort)
        job.deadline = std::min(job.deadline, hasty);
    }
}

// Short queues go on losing packets when the network has healed. A job that ends with its first
// late chunk, and with it the epoch, then needs time for several repairs, or it never gets all its
// ops.
void give_time(Scenario& s) {
  if (s.links.bits_per_second == 0) return;
  for (JobScenario& job : s.jobs)
    if (job.sums.on_deadline == config::OnDeadline::abort)
      job.deadline = std::max(job.deadline, Duration::ms(700));
}

// Jobs that may do without the late, who are few where there is time, and many where there is not.
void draw_degraded(Draw& draw, Scenario& s) {
  for (JobScenario& job : s.jobs) {
    if (job.workers < 2 || job.model || job.sums.order != wire::Order::fast ||
        job.sums.on_deadline != config::OnDeadline::escalate || draw.one_in(2))
      continue;
    Duration least = job.deadline;
    if (s.switches.size() > 1)
      least = least + std::max(job.deadline / 8, Duration::ms(100)) * kMostLevels;
    job.degraded_after = draw.between(least, least + Duration::ms(draw.one_in(2) ? 20 : 300));
  }
}

// Hosts that notify ranks themselves (T9): servers all of them, switches those below.
void draw_notify(Draw& draw, Scenario& s) {
  for (JobScenario& job : s.jobs) {
    if ((job.servers > 0) == (job.host_switches > 0) || draw.one_in(2)) continue;
    if (job.host_switches > 0)
      job.notify = wire::Notify::host_switch;
    else if (job.integrity == wire::Integrity::udp_checksum)
      job.notify = wire::Notify::direct;
  }
}

// A job of which every sum overflows, for so long that ranks stop making them first.
void make_overflow(Draw& draw, Scenario& s) {
  JobScenario& job = s.jobs.front();
  if (job.model || job.workers == 1 || !job.sums.reductions.empty() ||
      job.sums.arithmetic != wire::Arithmetic::saturating)
    return;
  job.overflow_storm = true;
  job.ops = draw.between(12, 24);
  job.max_elements = job.chunk_bytes / 4 * job.shards * draw.between(8, 16);
}

void draw_marks(Draw& draw, Scenario& s) {
  if (draw.one_in(2)) s.links.mark_ppm = draw.between(1000, draw.one_in(3) ? 500'000 : 50'000);
  if (s.links.bits_per_second != 0 && draw.one_in(2))
    s.links.mark_bytes = draw.between(1, s.links.queue_bytes);
}

// Switches that end epochs after an op that all ranks finish, one or several at once; and trees
// that change that way. The draws before stay what they were.
void draw_drains(Draw draw, Scenario& s) {
  for (TreeChange& c : s.changes)
    if (!draw.one_in(3)) c.drain = draw.between(Duration::ms(2), Duration::ms(200));
  for (std::uint32_t i = draw.one_in(2) ? draw.between(1, 4) : 0; i > 0; --i)
    s.script.push_back({ScriptAction::drain, ScriptTarget::aggregator, draw.between(0, 3),
                        draw.one_in(2) ? draw.between(Duration::us(100), Duration::ms(30))
                                       : draw.between(Duration::ms(1), Duration::ms(400)),
                        draw.between(Duration::ms(5), Duration::ms(300))});
  std::stable_sort(s.script.begin(), s.script.end(),
                   [](const ScriptEntry& a, const ScriptEntry& b) { return a.at < b.at; });
}

// Only faults that retries repair: losses are few, and timeouts long.
void make_gentle(Draw& draw, Scenario& s) {
  s.script.clear();
  s.hostile.packets = 0;
  s.links.bits_per_second = 0;
  s.links.loss_ppm = draw.between(0, 8000);
  s.links.corrupt_ppm = draw.between(0, 2000);
  s.links.stray_ppm = std::min(s.links.stray_ppm, 10'000 - s.links.loss_ppm - s.links.corrupt_ppm);
  s.links.reorder_delay_max = Duration::ms(5);
  for (JobScenario& job : s.jobs) {
    job.deadline = std::max(job.deadline, Duration::seconds(1));
    job.lease = std::max(job.lease, Duration::seconds(1));
    job.op_timeout = std::max(job.op_timeout, Duration::seconds(3));
  }
}

}  // namespace

Scenario draw_scenario(std::uint64_t seed) {
  Draw draw(seed);
  Scenario s;
  s.name = "seed-" + std::to_string(seed);
  s.seed = seed;
  const std::uint32_t jobs = draw.one_in(2) ? draw.between(2, 3) : 1;
  for (std::uint32_t i = 0; i < jobs; ++i) s.jobs.push_back(draw_job(draw, i + 1));
  draw_pool(draw, s);
  if (draw.one_in(3)) s.cache_megabytes = 1;
  s.links = draw_links(draw);
  if (draw.one_in(3)) s.access_switches = draw.between(1, 2);
  s.backlog_frames = draw.one_of(std::array{0u, 1u, 4u, 64u, 1000u});
  s.first_epoch = draw.one_of(std::array{1u, 1u, 0u, 65'534u, 30'000u});
  s.first_seq = draw.one_of(std::array{0u, 0u, 0xFFFF'FFFFu, 0xFFFF'FFF0u, 0x7FFF'FFF8u});
  s.turn_max = draw.between(Duration::us(1), Duration::us(300));
  s.tick = draw.between(Duration::ms(1), Duration::ms(5));
  s.drift_ppm = draw.one_of(std::array{0u, 50u, 1000u});
  s.heal_at = draw.between(Duration::ms(50), Duration::ms(2500));
  if (draw.one_in(6)) s.links.stray_ppm = draw.between(100, 50'000);
  const bool tree = draw.between(0, 4) < 2;
  draw_servers(draw, s);
  draw_script(draw, s);
  if (draw.one_in(3)) s.hostile.packets = draw.between(20, 200);
  // Where switches lie between a server and a root, a stranger there can replay what the server
  // said.
  if (tree && s.servers.count > 0) s.hostile.packets = 0;
  if (draw.one_in(3)) s.hostile.faulty_ppm = draw.between(10'000, 300'000);
  make_hasty(draw, s);
  give_time(s);
  if (draw.one_in(5)) make_gentle(draw, s);
  if (tree) draw_tree(draw, s);
  if (tree && draw.one_in(3)) draw_changes(draw, s);
  if (tree && s.changes.empty() && draw.one_in(2)) draw_host_switches(draw, s);
  draw_degraded(draw, s);
  draw_notify(draw, s);
  if (draw.one_in(32)) make_overflow(draw, s);
  draw_marks(draw, s);
  draw_preemption(draw, s);
  draw_held(Draw(seed ^ 0xD09'0000'0000), s);
  draw_drains(Draw(seed ^ 0xD4A1'0000'0000), s);
  draw_resizes(Draw(seed ^ 0x2E51'0000'0000), s);
  s.most_events = kMostEvents;
  return s;
}

}  // namespace tributary::sim
