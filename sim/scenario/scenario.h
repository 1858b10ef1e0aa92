// A world and what happens in it, as data: drawn by the swarm, read from YAML, printed when a run
// fails. Together with its seed it decides everything.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/model/switch_config.h"
#include "core/time.h"
#include "sim/network/link.h"
#include "sim/network/tree.h"

namespace tributary::sim {

// Modelled: a chunk's payload is 8 bytes, two random int32, that act as its hash; they are really
// summed and really checked. Links and the switch are charged for chunk_bytes all the same.
enum class Payload : std::uint8_t { real, modelled };
inline constexpr std::uint32_t kModelledChunkBytes = 8;

// From that op on a job has so many ranks (rule 24).
struct Resize {
  std::uint32_t op = 0;
  std::uint32_t workers = 1;
};

struct JobScenario {
  std::uint32_t id = 1;
  std::uint32_t workers = 2;  // the most, where there are resizes
  std::uint32_t window = 4;
  std::uint32_t chunk_bytes = 64;
  std::uint8_t shards = 1;
  std::uint8_t plane = 0;  // of the job, which has no more: the one that is run
  wire::Integrity integrity = wire::Integrity::udp_checksum;
  Duration deadline = Duration::ms(500);
  Duration lease = Duration::ms(600);
  Duration op_timeout = Duration::seconds(3);
  Duration join_timeout = Duration::seconds(8);
  std::uint32_t ops = 8;
  std::uint32_t max_elements = 64;  // of an op; sizes 0, 1 and odd ones are among them
  std::uint32_t depth = 2;          // ops that a worker has open at once
  std::uint32_t loss_group = 0;     // see worker/api/communicator.h
  Duration think_max;               // pause before the next op
  bool overflow_storm = false;      // every op is a fixed-point sum that overflows everywhere
  bool model = false;               // its only server has a model, and half the ops update it
  bool disagree = false;            // in its first epoch rank 0 calls another op than the rest
  // Parameter servers that finish what the switches cannot, the first so many of the world's; and
  // whether the root does when none of them can. None: the root.
  std::uint32_t servers = 0;
  bool root_too = false;
  // Before them: switches below the job's root that sum it, the first ones, at most so many (T10).
  // And whom the root would rather have.
  std::uint32_t host_switches = 0;
  config::HostChoice host_choice = config::HostChoice::fixed;
  wire::Notify notify = wire::Notify::root;  // how their results reach the workers (T9)
  // Results may do without ranks that are later than this at the completion host (rule 21).
  std::optional<Duration> degraded_after;
  // How the switch sums, and in which slots. Only what config/schema/schema_sums.h lists is looked
  // at.
  config::JobConfig sums;
  // In order of ops, the first for op 0; none: always all workers. Ranks wait with the op of a
  // resize until all before it are done.
  std::vector<Resize> resizes = {};
  // Bytes of the value that the op's rank puts under a name after each op, at most; 0: none. Every
  // rank then asks for the value of some op.
  std::uint32_t named_bytes = 0;
  std::uint64_t op_bytes = 0;  // of every op, an allreduce of int32; 0: ops of drawn kinds
  Payload payload = Payload::real;

  // Payload of a chunk as the frames carry it.
  [[nodiscard]] std::uint32_t carried_chunk_bytes() const {
    return payload == Payload::real ? chunk_bytes : kModelledChunkBytes;
  }
  [[nodiscard]] std::uint32_t payload_scale() const { return chunk_bytes / carried_chunk_bytes(); }
};

// The time that a frame costs the switch's only core, which handles nothing else meanwhile. All 0:
// the switch is infinitely fast, and takes all that waits in one turn.
struct SwitchCost {
  Duration per_packet;                     // received
  Duration per_copy;                       // sent
  std::uint32_t picoseconds_per_byte = 0;  // received
  std::uint32_t burst = 32;                // frames a turn

  [[nodiscard]] bool free() const {
    return per_packet == Duration() && per_copy == Duration() && picoseconds_per_byte == 0;
  }
  [[nodiscard]] Duration of(std::size_t bytes) const {
    return per_packet +
           Duration::ns(static_cast<std::int64_t>(bytes) * picoseconds_per_byte / 1000);
  }
};

// exclude: the switch above leaves the target out of its jobs' sums (rule 14). elect: every root
// elects its jobs' hosts anew; loads grow from host number `index` on (T11). drain: the target
// wants the epochs of its jobs to end after an op that all ranks finish.
enum class ScriptAction : std::uint8_t {
  crash,
  pause,
  partition,
  link_down,
  exclude,
  elect,
  drain
};
enum class ScriptTarget : std::uint8_t { worker, aggregator, access, server };

struct ScriptEntry {
  ScriptAction action = ScriptAction::pause;
  ScriptTarget target = ScriptTarget::worker;
  std::uint32_t index = 0;  // among the targets of its kind, over all jobs
  Duration at;
  Duration length;  // crash, exclude: until it is there again; 0: never. drain: it waits so long
};

// The tree becomes another one: a worker, or a switch, is attached to another switch from then on.
struct TreeChange {
  Duration at;
  std::uint32_t worker = 0;  // over all jobs
  std::uint32_t to = 0;      // which of the switches; for a switch, one that stands before it
  Duration spread;           // each switch reads it, and what moves does, up to so much later
  std::optional<std::uint32_t> moved_switch = {};  // instead of the worker; not the root
  Duration drain = {};  // a switch that reads it drains its jobs first, and waits at most so long
};

struct ServerScenario {
  std::uint32_t count = 0;
  Duration lease = Duration::ms(60);      // of a server at the root
  Duration heartbeat = Duration::ms(15);  // of a server
  bool tight = false;                     // with no more memory than one chunk needs
  bool spread = false;                    // in a tree: over its switches, not all on the root
  std::uint32_t checkpoint_steps = 0;     // of a model; 0: it is lost with its server
};

struct HostileScenario {
  std::uint32_t packets = 0;     // that the hostile host sends before `heal_at`
  std::uint32_t faulty_ppm = 0;  // of a worker's contributions are followed by a broken copy
};

struct Scenario {
  std::string name = "unnamed";
  std::uint64_t seed = 1;
  std::vector<JobScenario> jobs;
  LinkQuality links;
  std::uint32_t access_switches = 0;  // workers are spread over them; 0: a port each
  std::vector<TreeSwitch> switches;   // a tree of aggregating switches; none: one
  FatTree fat_tree;                   // the same, generated
  // Loses the first copy of every AGGREGATE and RESULT between two switches, always.
  bool lose_first_between_switches = false;
  // Loses the first copy of every CONTRIBUTION that a worker sends.
  bool lose_first_contributions = false;
  std::uint32_t backlog_frames = 64;
  std::uint32_t first_epoch = 1;
  std::uint32_t first_seq = 0;
  Duration turn_max = Duration::us(50);  // from a frame's arrival to the switch's turn
  Duration tick = Duration::ms(2);       // turns of an idle switch
  SwitchCost cost;
  // The most frames that a switch holds while data of them waits to be summed, for several bursts
  // of a turn: each draws its own number. 0: all is summed at once.
  std::uint32_t held_frames = 0;
  std::uint32_t pool_slots = 0;  // of each shard, shared by the jobs with dynamic slots
  Duration preempt_idle;
  bool preempt_busy = false;
  std::uint32_t cache_megabytes = 0;
  std::uint32_t drift_ppm = 0;  // clocks run apart by up to this much
  std::vector<ScriptEntry> script;
  std::vector<TreeChange> changes;  // of `switches`, in order of time
  ServerScenario servers;
  HostileScenario hostile;
  Duration heal_at = Duration::seconds(2);  // the network is perfect from then on
  Duration limit = Duration::seconds(120);  // of virtual time: by then all must have ended
  std::uint64_t most_events = 0;  // the same, of events: some bugs fill time with them; 0: any
};

}  // namespace tributary::sim
