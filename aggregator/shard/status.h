// What people see of the engine, filled on its thread on request.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "aggregator/chunk/outbox.h"
#include "aggregator/shard/join_refusal.h"
#include "core/exclusion.h"
#include "core/time.h"

namespace tributary::aggregator {

// For `show jobs`.
struct MemberStatus {
  std::uint32_t rank = 0;  // or the id of a switch
  bool present = false;
  Endpoint peer;
  Duration silent_for;            // since its last packet
  std::uint32_t held_before = 0;  // first shard here: every result before it
  bool is_switch = false;
  std::vector<std::uint32_t> ranks;  // inside
};
// The switch above, as this one sees it.
struct UpstreamStatus {
  std::string name;
  std::uint32_t id = 0;
  std::string uplink;
  std::uint16_t child = 0;
  std::uint16_t fan_in = 0;
  std::string state;
  JoinRefusal refusal;  // of its JOIN, just now
};
enum class JobState : std::uint8_t { idle, forming, running, aborted };
const char* name_of(JobState state);
struct JobStatus {
  std::uint32_t id = 0;
  std::uint8_t plane = 0;
  JobState state = JobState::idle;
  std::uint16_t epoch = 0;
  wire::Reason last_abort = wire::Reason::none;
  std::vector<std::uint32_t> last_abort_ranks;  // that it names
  std::vector<MemberStatus> members;
  std::optional<UpstreamStatus> upstream;  // none: results are final here
};

// For `show slots`: a chunk that is being summed, or whose sum went up and has no result yet.
struct SlotStatus {
  std::uint32_t job = 0;
  std::uint8_t plane = 0;
  std::uint8_t shard = 0;
  std::uint32_t slot = 0;
  std::uint32_t op = 0;
  std::uint32_t chunk = 0;
  std::uint32_t seq = 0;
  std::uint32_t arrived = 0;
  std::uint32_t fan_in = 0;
  Duration open_for;  // sent: since the parent was last told or asked, or since it was opened
  std::vector<std::uint32_t> missing;  // ranks, at most 16
  bool sent = false;
  bool holds_slot = true;
};
// Which of them: those that hold a slot, or all.
enum class Slots : std::uint8_t { held, all };
// How far a look at all chunks has come: the shard, the job of those that it has, and the place in
// that one's table, which a chunk never changes.
struct SlotPlace {
  std::size_t shard = 0;
  std::size_t job = 0;
  std::size_t entry = 0;
};
// How much a look may still be about: places in tables, and rows.
struct SlotLimits {
  std::size_t looks = 0;
  std::size_t rows = 0;
};

// For `show op`: one line of an op's time-line in one shard.
struct OpLine {
  std::uint8_t shard = 0;
  Duration at;               // since the op's first contribution to this switch
  std::string what;          // "arrived", "escalated: collision", ...
  std::uint32_t chunk = 0;   // the first one concerned
  std::uint32_t chunks = 1;  // how many
  Duration until;            // when it happened to the last of them
  Duration late;             // behind the deadline; 0: in time, or nothing that is waited for
  std::vector<std::uint32_t> ranks;  // of the child whose data arrived; or those left out
};

// How far behind the first arrival of a chunk each child's data came, in one op: the most of its
// first and its last chunk, in all shards (T13).
struct OpLateness {
  std::uint32_t op = 0;
  bool complete = true;          // every child's data has come
  std::vector<Duration> behind;  // by child; of what has not come, so far
};

// For `show stragglers`: a child in the latest ops.
struct ChildLateness {
  std::uint32_t job = 0;
  std::uint8_t plane = 0;
  std::uint32_t id = 0;  // rank, or switch
  bool is_switch = false;
  Endpoint peer;
  std::vector<std::uint32_t> ranks;  // inside
  std::uint32_t ops = 0;             // so many were looked at
  Duration mean;                     // of what it was behind in each
  Duration most;
  Duration last;                       // in the latest
  std::uint64_t missed_deadlines = 0;  // chunks that were given up without its data
  Exclusion excluded;
};
// How far a look at all children has come: the job, and the child of that.
struct LatenessPlace {
  std::size_t job = 0;
  std::uint32_t child = 0;
};
// The order of `show stragglers`: of each job the latest first.
void sort_latest_first(std::vector<ChildLateness>& children);

}  // namespace tributary::aggregator
