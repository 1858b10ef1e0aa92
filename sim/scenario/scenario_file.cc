#include "sim/scenario/scenario_file.h"

#include <algorithm>
#include <array>

#include "config/schema/schema_hosts.h"
#include "config/schema/schema_sums.h"
#include "config/text/file.h"
#include "config/text/yaml_tree.h"
#include "sim/scenario/scenario_check.h"
#include "worker/api/communicator.h"

namespace tributary::sim {
namespace {

using config::boolean;
using config::Codec;
using config::duration;
using config::Fields;
using config::integer;
using config::mapping;
using config::Node;
using config::power_of_two;
using config::scalar;
using enum config::Presence;

constexpr Duration kMostTime = Duration::seconds(3600);
constexpr std::int64_t kPpm = 1'000'000;
constexpr std::uint32_t kMostWorkers = 65'535;  // JOIN says how many in 16 bits
constexpr std::uint32_t kMostServers = 8;

template <typename T, std::size_t N>
Codec<T> choice(const std::array<std::pair<const char*, T>, N>& choices) {
  std::string allowed;
  for (const auto& [name, value] : choices)
    allowed += (allowed.empty() ? "" : ", ") + std::string(name);
  return {"choice", allowed,
          [=](const Node& node, T& out) -> std::optional<std::string> {
            for (const auto& [name, value] : choices)
              if (node.text == name) {
                out = value;
                return std::nullopt;
              }
            return "is not one of them";
          },
          [=](const T& value) -> std::optional<std::string> {
            for (const auto& [name, known] : choices)
              if (known == value) return name;
            return std::nullopt;
          }};
}

Codec<Duration> time(Duration least = Duration()) {
  return duration(least, kMostTime);
}
Codec<std::string> parent_name() {  // may be left out, and then is not written
  Codec<std::string> codec = config::identifier();
  codec.format = [](const std::string& name) {
    return name.empty() ? std::nullopt : std::optional(name);
  };
  return codec;
}
Codec<std::uint32_t> ppm() {
  return integer<std::uint32_t>(0, kPpm, ", parts per million");
}

const Fields<config::JobConfig>& sums_fields() {
  static const Fields<config::JobConfig> fields = config::sum_fields();
  return fields;
}

const Fields<Resize>& resize_fields() {
  static const Fields<Resize> fields = {
      scalar("op", &Resize::op, integer<std::uint32_t>(0, 1'000'000), "From which op on.",
             required),
      scalar("workers", &Resize::workers, integer<std::uint32_t>(1, kMostWorkers), "So many ranks.",
             required),
  };
  return fields;
}

const Fields<JobScenario>& job_fields() {
  using J = JobScenario;
  static constexpr std::array<std::pair<const char*, wire::Notify>, 3> kNotify = {
      {{"root", wire::Notify::root},
       {"switch", wire::Notify::host_switch},
       {"direct", wire::Notify::direct}}};
  static constexpr std::array<std::pair<const char*, Payload>, 2> kPayloads = {
      {{"real", Payload::real}, {"modelled", Payload::modelled}}};
  static const Fields<J> fields = {
      scalar("id", &J::id, integer<std::uint32_t>(1, 65535), "Job number."),
      scalar("workers", &J::workers, integer<std::uint32_t>(1, kMostWorkers), "Ranks."),
      scalar("window", &J::window, power_of_two<std::uint32_t>(1, config::kMaxWindow),
             "Chunks in flight per shard."),
      scalar("chunk_bytes", &J::chunk_bytes,
             config::multiple_of<std::uint32_t>(8, 8, config::kMaxChunkBytes),
             "Payload of a chunk."),
      scalar("shards", &J::shards, integer<std::uint8_t>(1, config::kMaxShards), "Shards."),
      scalar("plane", &J::plane, integer<std::uint8_t>(0, 15), "The job's last, run by itself."),
      scalar("integrity", &J::integrity, config::integrity(), "Integrity check of packets."),
      scalar("deadline", &J::deadline, time(Duration::ms(1)), "Deadline of an open chunk."),
      scalar("lease", &J::lease, duration(Duration::ms(1), kMostTime, Duration::ms(1)),
             "Silence of a member that ends the epoch."),
      scalar("op_timeout", &J::op_timeout, time(Duration::ms(1)), "Timeout of the oldest op."),
      scalar("join_timeout", &J::join_timeout, time(Duration::ms(1)), "Until all ranks are there."),
      scalar("ops", &J::ops, integer<std::uint32_t>(0, 1'000'000), "Ops that each rank calls."),
      scalar("max_elements", &J::max_elements, integer<std::uint32_t>(0, 1u << 28),
             "Elements of an op, at most."),
      scalar("op_bytes", &J::op_bytes, integer<std::uint64_t>(0, std::uint64_t{1} << 40),
             "Size of every op, an allreduce of int32. 0: kinds and sizes are drawn."),
      scalar("payload", &J::payload, choice(kPayloads),
             "modelled: 8 bytes stand for the payload of a chunk, and links carry its full size."),
      mapping<J, config::JobConfig>(
          "sums", [](auto& j) -> auto& { return j.sums; }, sums_fields(),
          "How the switch sums, and in which slots: keys of a job in a switch's configuration."),
      scalar("loss_group", &J::loss_group, integer<std::uint32_t>(0, kMaxLossGroup),
             "Chunks whose results are checked together; 0: each for itself."),
      scalar("servers", &J::servers, integer<std::uint32_t>(0, kMostServers),
             "Parameter servers of the job, the first ones; 0: the root is its own."),
      scalar("root_too", &J::root_too, boolean(), "The root stands in when no server is left."),
      scalar("host_switches", &J::host_switches, integer<std::uint32_t>(0, 64),
             "Before the servers: the first switches below the job's root, at most so many."),
      scalar("host_choice", &J::host_choice, config::host_choice(), "Which of all these begins."),
      scalar("notify", &J::notify, choice(kNotify), "How their results reach the workers."),
      scalar("degraded_after", &J::degraded_after, or_absent(time(Duration::ms(1))),
             "Chunks wait no longer for ranks late at the completion host; left out: for all."),
      scalar("depth", &J::depth, integer<std::uint32_t>(1, 1024), "Ops open at once."),
      scalar("think_max", &J::think_max, duration(Duration(), Duration::seconds(1)),
             "Pause before the next op, at most."),
      scalar("overflow_storm", &J::overflow_storm, boolean(),
             "Every op is a sum of floats as fixed point, and every chunk of it overflows."),
      scalar("model", &J::model, boolean(),
             "The job's only server has a model; half the ops update it. Without root_too."),
      scalar("disagree", &J::disagree, boolean(), "Rank 0 calls another op in its first epoch."),
      scalar("named_bytes", &J::named_bytes, integer<std::uint32_t>(0, 1u << 20),
             "Bytes of the value that a rank puts by name after an op, at most; 0: none."),
      config::list("resizes", &J::resizes, resize_fields(), 0, 1000,
                   "Numbers of ranks, up to `workers`, the first from op 0 on. None: always all."),
  };
  return fields;
}

const Fields<LinkQuality>& link_fields() {
  using L = LinkQuality;
  static const Fields<L> fields = {
      scalar("delay_min", &L::delay_min, time(), "Propagation, at least."),
      scalar("delay_max", &L::delay_max, time(), "Propagation, at most."),
      scalar("bits_per_second", &L::bits_per_second, integer<std::uint64_t>(0, 10'000'000'000'000),
             "Rate; 0: unlimited."),
      scalar("queue_bytes", &L::queue_bytes, integer<std::uint32_t>(0, 0xFFFF'FFFF),
             "Queue of a link with a rate; frames beyond it are dropped."),
      scalar("loss", &L::loss_ppm, ppm(), "Frames lost."),
      scalar("duplicate", &L::duplicate_ppm, ppm(), "Frames that come twice."),
      scalar("reorder", &L::reorder_ppm, ppm(), "Frames held back."),
      scalar("reorder_delay_max", &L::reorder_delay_max, duration(Duration(), Duration::seconds(4)),
             "How long they are held back, and how late a second copy comes."),
      scalar("corrupt", &L::corrupt_ppm, ppm(), "Frames with flipped bits."),
      scalar("mark", &L::mark_ppm, ppm(), "Frames marked: congestion experienced."),
      scalar("mark_bytes", &L::mark_bytes, integer<std::uint32_t>(0, 0xFFFF'FFFF),
             "On a link with a rate: marks frames that find so many bytes waiting; 0: none."),
      scalar("stray", &L::stray_ppm, ppm(), "Workers' frames with another source port."),
  };
  return fields;
}

const Fields<SwitchCost>& cost_fields() {
  using C = SwitchCost;
  static const Fields<C> fields = {
      scalar("per_packet", &C::per_packet, duration(Duration(), Duration::ms(1)),
             "Time for every frame received."),
      scalar("per_copy", &C::per_copy, duration(Duration(), Duration::ms(1)),
             "Time for every frame sent."),
      scalar("picoseconds_per_byte", &C::picoseconds_per_byte, integer<std::uint32_t>(0, 1'000'000),
             "Time for every byte received."),
      scalar("burst", &C::burst, integer<std::uint32_t>(1, 65'536), "Frames a turn, at most."),
  };
  return fields;
}

const Fields<ScriptEntry>& script_fields() {
  using S = ScriptEntry;
  static constexpr std::array<std::pair<const char*, ScriptAction>, 7> kActions = {
      {{"crash", ScriptAction::crash},
       {"pause", ScriptAction::pause},
       {"partition", ScriptAction::partition},
       {"link-down", ScriptAction::link_down},
       {"exclude", ScriptAction::exclude},
       {"elect", ScriptAction::elect},
       {"drain", ScriptAction::drain}}};
  static constexpr std::array<std::pair<const char*, ScriptTarget>, 4> kTargets = {
      {{"worker", ScriptTarget::worker},
       {"switch", ScriptTarget::aggregator},
       {"access", ScriptTarget::access},
       {"server", ScriptTarget::server}}};
  static const Fields<S> fields = {
      scalar("action", &S::action, choice(kActions), "The fault.", required),
      scalar("target", &S::target, choice(kTargets), "Kind of the node that it hits."),
      scalar("index", &S::index, integer<std::uint32_t>(0, 1'000'000),
             "Which of them; workers are counted over all jobs."),
      scalar("at", &S::at, time(), "When.", required),
      scalar("length", &S::length, time(),
             "For how long. A crash or an exclusion of 0s: for good."),
  };
  return fields;
}

const Fields<TreeChange>& change_fields() {
  using C = TreeChange;
  static const Fields<C> fields = {
      scalar("at", &C::at, time(), "When.", required),
      scalar("worker", &C::worker, integer<std::uint32_t>(0, 1'000'000),
             "Which worker moves, counted over all jobs."),
      scalar("switch", &C::moved_switch, or_absent(integer<std::uint32_t>(1, 70'000)),
             "Which switch moves instead, with all that is below it; the root is 0."),
      scalar("to", &C::to, integer<std::uint32_t>(0, 70'000),
             "The switch that it moves to; for a switch, one that stands before it."),
      scalar("spread", &C::spread, time(),
             "Each switch reads the new tree, and what moves does, up to so much later."),
      scalar("drain", &C::drain, time(),
             "A switch drains the jobs that change before it takes it over, for at most so long."),
  };
  return fields;
}

const Fields<TreeSwitch>& switch_fields() {
  using T = TreeSwitch;
  static const Fields<T> fields = {
      scalar("name", &T::name, config::identifier(), "Name.", required),
      scalar("parent", &T::parent, parent_name(), "The switch above it; none: the root."),
      scalar("workers", &T::workers, integer<std::uint32_t>(0, kMostWorkers),
             "Workers attached to it, the next ones in order."),
  };
  return fields;
}

const Fields<FatTree>& fat_tree_fields() {
  using F = FatTree;
  static const Fields<F> fields = {
      scalar("levels", &F::levels, integer<std::uint32_t>(0, 4), "Levels of switches; 0: no tree."),
      scalar("radix", &F::radix, integer<std::uint32_t>(0, 4096), "Children of a switch."),
  };
  return fields;
}

const Fields<ServerScenario>& server_fields() {
  using S = ServerScenario;
  static const Fields<S> fields = {
      scalar("count", &S::count, integer<std::uint32_t>(0, kMostServers), "Parameter servers."),
      scalar("lease", &S::lease, time(Duration::ms(1)),
             "Silence of a server after which the root takes the next one."),
      scalar("heartbeat", &S::heartbeat, time(Duration::ms(1)),
             "Interval of a server's heartbeats."),
      scalar("tight", &S::tight, boolean(), "They have memory for one chunk, and no more."),
      scalar("spread", &S::spread, boolean(),
             "They are attached to the switches of a tree in turn, not all to its root."),
      scalar("checkpoint_steps", &S::checkpoint_steps, integer<std::uint32_t>(0, 1'000'000),
             "Steps of a model between its checkpoints; 0: it is lost with its server."),
  };
  return fields;
}

const Fields<HostileScenario>& hostile_fields() {
  using H = HostileScenario;
  static const Fields<H> fields = {
      scalar("packets", &H::packets, integer<std::uint32_t>(0, 1'000'000),
             "Packets that a hostile host sends before heal_at."),
      scalar("faulty", &H::faulty_ppm, ppm(), "Contributions that a broken copy follows."),
  };
  return fields;
}

const Fields<Scenario>& scenario_fields() {
  using S = Scenario;
  static const Fields<S> fields = {
      scalar("name", &S::name, config::identifier(), "Name in reports."),
      scalar("seed", &S::seed, integer<std::uint64_t>(0, std::numeric_limits<std::int64_t>::max()),
             "Decides all that is left to chance."),
      config::list("jobs", &S::jobs, job_fields(), 1, 64, "Jobs."),
      mapping<S, LinkQuality>(
          "links", [](auto& s) -> auto& { return s.links; }, link_fields(), "All cables."),
      scalar("access_switches", &S::access_switches, integer<std::uint32_t>(0, 64),
             "Switches between workers and the aggregating one; 0: none."),
      config::list("switches", &S::switches, switch_fields(), 0, 70'000,
                   "A tree of aggregating switches, parents first."),
      mapping<S, FatTree>(
          "fat_tree", [](auto& s) -> auto& { return s.fat_tree; }, fat_tree_fields(),
          "Instead of switches: a tree that is generated."),
      scalar("lose_first_between_switches", &S::lose_first_between_switches, boolean(),
             "Each sum and each result between two switches has to be sent again, always."),
      scalar("lose_first_contributions", &S::lose_first_contributions, boolean(),
             "Each contribution of a worker has to be sent again, always."),
      scalar("backlog_frames", &S::backlog_frames, integer<std::uint32_t>(0, 1'000'000),
             "Frames that wait for a paused node, at most."),
      scalar("first_epoch", &S::first_epoch, integer<std::uint32_t>(0, 65535),
             "First epoch of the switch."),
      scalar("first_seq", &S::first_seq, integer<std::uint32_t>(0, 0xFFFF'FFFF),
             "First seq of an epoch."),
      scalar("turn_max", &S::turn_max, duration(Duration(), Duration::seconds(1)),
             "From a frame's arrival to the switch's turn, at most."),
      scalar("tick", &S::tick, duration(Duration::us(1), Duration::seconds(1)),
             "Between turns of an idle switch."),
      mapping<S, SwitchCost>(
          "switch_cost", [](auto& s) -> auto& { return s.cost; }, cost_fields(),
          "Time that the aggregating switch is busy with a frame, one core. All 0: none."),
      scalar(
          "held_frames", &S::held_frames, integer<std::uint32_t>(0, 128),
          "Frames that a switch holds at most while their data waits to be summed; 0: none waits."),
      scalar("pool_slots", &S::pool_slots, integer<std::uint32_t>(0, 65'536),
             "Slots of each shard, shared by the jobs with dynamic slots."),
      scalar("preempt_idle", &S::preempt_idle, time(),
             "A dynamic slot without a contribution for this long may be taken; 0s: never."),
      scalar("preempt_busy", &S::preempt_busy, boolean(),
             "Any dynamic slot may be taken by a higher priority."),
      scalar("cache_megabytes", &S::cache_megabytes, integer<std::uint32_t>(0, 1024),
             "Cache for results that all ranks have acknowledged."),
      scalar("drift", &S::drift_ppm, integer<std::uint32_t>(0, 1000, ", parts per million"),
             "Drift of clocks, at most."),
      config::list("script", &S::script, script_fields(), 0, 10'000, "Faults of nodes and cables."),
      config::list("changes", &S::changes, change_fields(), 0, 100,
                   "Workers that move to other switches, in order of time."),
      mapping<S, ServerScenario>(
          "servers", [](auto& s) -> auto& { return s.servers; }, server_fields(),
          "Parameter servers."),
      mapping<S, HostileScenario>(
          "hostile", [](auto& s) -> auto& { return s.hostile; }, hostile_fields(), "Ill will."),
      scalar("heal_at", &S::heal_at, time(), "The network is perfect from then on."),
      scalar("limit", &S::limit, time(), "Time by which all must have ended."),
      scalar("most_events", &S::most_events, integer<std::uint64_t>(0, std::uint64_t{1} << 40),
             "After so many all must have ended; 0: any."),
  };
  return fields;
}

}  // namespace

Scenario load_scenario(const std::string& path) {
  return parse_scenario(config::read_file(path), path);
}

Scenario parse_scenario(std::string_view text, const std::string& file_name) {
  config::Node root;
  try {
    root = config::parse_yaml(text);
  } catch (const config::YamlError& e) {
    throw config::ConfigErrors({{file_name, e.mark().line, e.mark().column, "", e.what()}});
  }
  config::ReadContext context(file_name);
  Scenario scenario;
  config::read_mapping(context, "", root, scenario_fields(), scenario);
  check_scenario(scenario, context);
  if (!context.errors().empty()) throw config::ConfigErrors(context.errors());
  return scenario;
}

std::string to_yaml(const Scenario& scenario) {
  return config::write_fields(scenario_fields(), scenario, 0);
}

std::vector<config::KeyInfo> describe_scenario_schema() {
  std::vector<config::KeyInfo> keys;
  config::describe_fields(scenario_fields(), "", keys);
  return keys;
}

}  // namespace tributary::sim
