#include "tests/sim/swarm.h"

#include <algorithm>
#include <array>

#include "core/prng.h"

namespace tributary::sim {
namespace {

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed ^ 0x5EED) {}

  std::uint32_t between(std::uint32_t least, std::uint32_t most) {
    return least + random_.below(most - least + 1);
  }
  Duration between(Duration least, Duration most) {
    return least + Duration::us(random_.below(
                       static_cast<std::uint32_t>((most - least).to_ns() / 1000) + 1));
  }
  bool one_in(std::uint32_t n) { return random_.below(n) == 0; }
  template <typename T, std::size_t N>
  T one_of(const std::array<T, N>& values) {
    return values[random_.below(N)];
  }

 private:
  Prng random_;
};

JobScenario draw_job(Draw& draw, std::uint32_t id) {
  JobScenario job;
  job.id = id;
  job.workers = draw.one_in(6) ? 1 : draw.between(2, 5);
  job.window = draw.one_of(std::array{1u, 1u, 2u, 2u, 4u, 8u, 16u});
  job.chunk_bytes = draw.one_of(std::array{8u, 8u, 16u, 64u, 256u, 1024u});
  job.shards = draw.one_of(std::array<std::uint8_t, 6>{1, 1, 2, 3, 4, 8});
  job.integrity = draw.one_in(2) ? wire::Integrity::crc32c : wire::Integrity::udp_checksum;
  job.deadline = draw.between(Duration::ms(200), Duration::ms(1500));
  job.lease = Duration::ms(draw.between(300, 1500));
  job.op_timeout = draw.between(Duration::ms(500), Duration::seconds(4));
  job.join_timeout = Duration::seconds(draw.between(8, 12));
  job.ops = draw.between(1, 24);
  // A few chunks per shard are enough to go round a tiny window several times.
  const std::uint32_t per_round = job.chunk_bytes / 4 * job.shards * job.window;
  job.max_elements = std::min(draw.between(1, 3 * per_round), 2000u);
  job.depth = draw.between(1, 4);
  if (draw.one_in(2)) job.think_max = draw.between(Duration::us(10), Duration::ms(40));
  job.disagree = draw.one_in(24);
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
    l.queue_bytes = draw.between(3000, 60'000);
  }
  return l;
}

void draw_script(Draw& draw, Scenario& s) {
  if (draw.one_in(3)) return;
  std::uint32_t workers = 0;
  for (const JobScenario& job : s.jobs) workers += job.workers;
  const std::uint32_t entries = draw.between(1, 6);
  for (std::uint32_t i = 0; i < entries; ++i) {
    ScriptEntry e;
    e.action = draw.one_of(std::array{ScriptAction::crash, ScriptAction::crash, ScriptAction::pause,
                                      ScriptAction::partition, ScriptAction::link_down});
    const std::uint32_t who = draw.between(0, 5);
    e.target = who < 4   ? ScriptTarget::worker
               : who < 5 ? ScriptTarget::aggregator
                         : ScriptTarget::access;
    if (e.target == ScriptTarget::access && s.access_switches == 0) e.target = ScriptTarget::worker;
    e.index = draw.between(0, workers - 1);
    // Most of the traffic comes early.
    e.at = draw.one_in(2) ? draw.between(Duration::us(100), Duration::ms(60))
                          : draw.between(Duration::ms(1), s.heal_at);
    e.length = draw.one_in(3) ? draw.between(Duration::ms(100), Duration::ms(2500))
                              : draw.between(Duration::us(50), Duration::ms(100));
    if (e.action == ScriptAction::crash && e.target == ScriptTarget::worker && draw.one_in(8))
      e.length = Duration();  // for good
    s.script.push_back(e);
  }
  std::stable_sort(s.script.begin(), s.script.end(),
                   [](const ScriptEntry& a, const ScriptEntry& b) { return a.at < b.at; });
  for (const ScriptEntry& e : s.script) s.heal_at = std::max(s.heal_at, e.at + e.length);
}

std::string switch_name(std::uint32_t index) {
  std::string name = "s";
  return name += std::to_string(index);
}

// Some worlds have a tree of up to six switches, of up to four levels, with workers anywhere.
void draw_tree(Draw& draw, Scenario& s) {
  s.access_switches = 0;
  const std::uint32_t switches = draw.between(2, 6);
  std::vector<std::uint32_t> levels;
  for (std::uint32_t i = 0; i < switches; ++i) {
    TreeSwitch sw;
    sw.name = switch_name(i);
    std::uint32_t above = i == 0 ? 0 : draw.between(0, i - 1);
    if (i > 0 && levels[above] >= 3) above = 0;
    if (i > 0) sw.parent = switch_name(above);
    levels.push_back(i == 0 ? 0 : levels[above] + 1);
    s.switches.push_back(std::move(sw));
  }
  for (const JobScenario& job : s.jobs)
    for (std::uint32_t w = 0; w < job.workers; ++w)
      ++s.switches[draw.between(0, switches - 1)].workers;
  // Many faults of switches are then those of sub-switches.
  for (ScriptEntry& e : s.script)
    if (e.target == ScriptTarget::access || draw.one_in(3)) e.target = ScriptTarget::aggregator;
}

// What patience repairs: losses are few, and nobody is in a hurry.
void make_gentle(Draw& draw, Scenario& s) {
  s.script.clear();
  s.hostile.packets = 0;
  s.links.bits_per_second = 0;
  s.links.loss_ppm = draw.between(0, 8000);
  s.links.corrupt_ppm = draw.between(0, 2000);
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
  const std::uint32_t jobs = draw.one_in(3) ? draw.between(2, 3) : 1;
  for (std::uint32_t i = 0; i < jobs; ++i) s.jobs.push_back(draw_job(draw, i + 1));
  s.links = draw_links(draw);
  if (draw.one_in(3)) s.access_switches = draw.between(1, 2);
  s.backlog_frames = draw.one_of(std::array{0u, 1u, 4u, 64u, 1000u});
  s.first_epoch = draw.one_of(std::array{1u, 1u, 0u, 65'534u, 30'000u});
  s.first_seq = draw.one_of(std::array{0u, 0u, 0xFFFF'FFFFu, 0xFFFF'FFF0u, 0x7FFF'FFF8u});
  s.turn_max = draw.between(Duration::us(1), Duration::us(300));
  s.tick = draw.between(Duration::ms(1), Duration::ms(5));
  s.drift_ppm = draw.one_of(std::array{0u, 50u, 1000u});
  s.heal_at = draw.between(Duration::ms(50), Duration::ms(2500));
  draw_script(draw, s);
  if (draw.one_in(3)) s.hostile.packets = draw.between(20, 200);
  if (draw.one_in(3)) s.hostile.faulty_ppm = draw.between(10'000, 300'000);
  if (draw.one_in(5)) make_gentle(draw, s);
  if (draw.one_in(2)) draw_tree(draw, s);
  return s;
}

}  // namespace tributary::sim
