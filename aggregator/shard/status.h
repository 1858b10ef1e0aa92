// Snapshots of the engine for `show`; filled on the engine's thread on request.
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
  std::uint32_t held_before = 0;  // first shard here: the seq before which it holds every result
  bool is_switch = false;
  std::vector<std::uint32_t> ranks;  // ranks inside it
  bool waits = false;                // a switch that has not joined, and said which ranks it lacks
};
// The switch above, as this one sees it.
struct UpstreamStatus {
  std::string name;
  std::uint32_t id = 0;
  std::string uplink;
  std::uint16_t child = 0;
  std::uint16_t fan_in = 0;
  std::string state;
  JoinRefusal refusal;  // the last refusal of its JOIN, if recent
};
enum class JobState : std::uint8_t { idle, forming, running, aborted };
const char* name_of(JobState state);
struct JobStatus {
  std::uint32_t id = 0;
  std::uint8_t plane = 0;
  JobState state = JobState::idle;
  std::uint16_t epoch = 0;
  bool held = false;  // the operator lets no epoch begin
  wire::Reason last_abort = wire::Reason::none;
  std::vector<std::uint32_t> last_abort_ranks;  // the ranks that the abort names
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
  Duration open_for;  // sent: since the parent was last told or probed; else since it was opened
  std::vector<std::uint32_t> missing;  // ranks, at most 16
  bool sent = false;
  bool holds_slot = true;
};
// Selects chunks that hold a slot, or all chunks.
enum class Slots : std::uint8_t { held, all };
// The position of a walk over all chunks: the shard, the job in that shard, and the entry in that
// job's table, which a chunk never leaves.
struct SlotPlace {
  std::size_t shard = 0;
  std::size_t job = 0;
  std::size_t entry = 0;
};
// The limits of one call of the walk: entries looked at, and rows.
struct SlotLimits {
  std::size_t looks = 0;
  std::size_t rows = 0;
};

// For `show op`: one line of an op's time-line in one shard.
struct OpLine {
  std::uint8_t shard = 0;
  Duration at;                       // since the op's first contribution to this switch
  std::string what;                  // "arrived", "escalated: collision", ...
  std::uint32_t chunk = 0;           // the first chunk with this event
  std::uint32_t chunks = 1;          // how many
  Duration until;                    // time of the last of them
  Duration late;                     // behind the deadline; 0: in time, or no deadline applies
  std::vector<std::uint32_t> ranks;  // of the child whose data arrived; or those left out
  // The sender whose packets the line is about.
  static constexpr std::uint32_t kNoSender = 0xFFFFFFFF;
  static constexpr std::uint32_t kParent = 0xFFFFFFFE;
  std::uint32_t sender = kNoSender;  // a child's number, or one of these
};

// A row of `show ops`: an op that `show op` has lines for, over all shards.
struct KnownOp {
  std::uint32_t op = 0;
  Duration ago;                      // since its first contribution to this switch
  bool timed = false;                // the times of arrivals are kept
  bool finished = false;             // some result was made
  std::vector<std::string> trouble;  // "deadline passed", "escalated: collision", ...
};

// How far behind the first arrival of a chunk each child's data came in one op: the largest value
// of its first and its last chunk, in all shards (T13).
struct OpLateness {
  std::uint32_t op = 0;
  bool complete = true;          // every child's data has come
  std::vector<Duration> behind;  // by child; of missing data, the time so far
};

// For `show stragglers`: a child's lateness in the latest ops.
struct ChildLateness {
  std::uint32_t job = 0;
  std::uint8_t plane = 0;
  std::uint32_t id = 0;  // rank, or switch
  bool is_switch = false;
  Endpoint peer;
  std::vector<std::uint32_t> ranks;  // ranks inside it
  std::uint32_t ops = 0;             // number of ops looked at
  Duration mean;                     // mean lateness over those ops
  Duration most;
  Duration last;                       // in the latest op
  std::uint64_t missed_deadlines = 0;  // chunks that were given up without its data
  Exclusion excluded;
};
// The position of a walk over all children: the job, and the child in that job.
struct LatenessPlace {
  std::size_t job = 0;
  std::uint32_t child = 0;
};
// The order of `show stragglers`: within each job, the latest child first.
void sort_latest_first(std::vector<ChildLateness>& children);

}  // namespace tributary::aggregator
