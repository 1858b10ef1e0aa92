// A world and what happens in it, as data: drawn by the swarm, read from YAML, printed when a run
// fails. Together with its seed it decides everything.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/switch_config.h"
#include "core/time.h"
#include "tests/sim/link.h"

namespace tributary::sim {

struct JobScenario {
  std::uint32_t id = 1;
  std::uint32_t workers = 2;
  std::uint32_t window = 4;
  std::uint32_t chunk_bytes = 64;
  std::uint8_t shards = 1;
  wire::Integrity integrity = wire::Integrity::udp_checksum;
  Duration deadline = Duration::ms(500);
  Duration lease = Duration::ms(600);
  Duration op_timeout = Duration::seconds(3);
  Duration join_timeout = Duration::seconds(8);
  std::uint32_t ops = 8;
  std::uint32_t max_elements = 64;  // of an op; sizes 0, 1 and odd ones are among them
  std::uint32_t depth = 2;          // ops that a worker has open at once
  Duration think_max;               // pause before the next op
  bool disagree = false;            // in its first epoch rank 0 calls another op than the rest
};

enum class ScriptAction : std::uint8_t { crash, pause, partition, link_down };
enum class ScriptTarget : std::uint8_t { worker, aggregator, access };

struct ScriptEntry {
  ScriptAction action = ScriptAction::pause;
  ScriptTarget target = ScriptTarget::worker;
  std::uint32_t index = 0;  // among the targets of its kind, over all jobs
  Duration at;
  Duration length;  // crash: until it starts again; 0: never
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
  std::uint32_t backlog_frames = 64;
  std::uint32_t first_epoch = 1;
  std::uint32_t first_seq = 0;
  Duration turn_max = Duration::us(50);  // from a frame's arrival to the switch's turn
  Duration tick = Duration::ms(2);       // turns of an idle switch
  std::uint32_t drift_ppm = 0;           // clocks run apart by up to this much
  std::vector<ScriptEntry> script;
  HostileScenario hostile;
  Duration heal_at = Duration::seconds(2);  // the network is perfect from then on
  Duration limit = Duration::seconds(120);  // of virtual time: by then all must have ended
};

}  // namespace tributary::sim
