// Why an op or a job failed, as text for the caller: one sentence that names job, op, chunk and the
// ranks concerned. All texts of the session are made here.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/time.h"
#include "core/wire/extension.h"
#include "core/wire/header.h"
#include "worker/session/session_options.h"

namespace tributary::worker {

struct Failure {
  wire::Reason reason = wire::Reason::none;  // none: timeout or local
  std::vector<std::uint32_t> ranks;          // missing, or at fault
  std::string text;
  std::optional<std::uint32_t> op;  // the op concerned; none: the whole job
};

// "rank 2", "ranks 2, 3 and 5"; lists at most 16.
std::string rank_list(std::span<const std::uint32_t> ranks);
// "1024 float32", "1024 int32 (max)", "a barrier", "a chunk of 256 float32".
std::string describe(const wire::OpDescription& d);

// ABORT(reason) ended the epoch.
Failure aborted(const wire::Packet& abort);
// NACK(reason): the switch refuses this rank.
Failure refused(const wire::Packet& nack, const SessionOptions& own);
// START announces a setting that this worker cannot accept.
Failure bad_start(std::uint32_t job, const std::string& why);

// RESULT is flagged: the sum left the range of its type (rule 12).
Failure overflowed(const wire::Header& result);

// The facts about an op that has timed out.
struct OpTimeout {
  std::uint32_t job = 0;
  std::uint32_t op = 0;
  std::uint32_t chunk = 0;
  Duration limit;
  std::string switch_name;
  std::optional<Duration> silent_for;      // since the switch's last packet; nullopt: none came
  std::span<const std::uint32_t> missing;  // from the last PENDING about this op
  std::size_t packet_bytes = 0;            // of the chunk, if no packet as large has come; else 0
};
Failure timed_out(const OpTimeout& t);
// The facts about a rank that has not joined in time.
struct JoinTimeout {
  std::uint32_t job = 0;
  std::uint32_t rank = 0;
  Duration limit;
  std::string switch_name;
  bool answered = false;
  std::span<const std::uint32_t> missing;
  wire::Header last_refusal;   // JOIN was repeated after this NACK; of reason none: there was none
  bool waits_for_job = false;  // that some rank opens
};
Failure join_timed_out(const JoinTimeout& t);
// NACK(sender_mismatch) names the process that has the rank: "rank 1 is already here, from ...".
std::string already_here(std::uint32_t rank, const wire::Header& nack);
// NACK(other_run): "rank 0 waits at 10.0.0.1 UDP port 4000 for ranks of another run".
std::string waits_for_other_run(const wire::Header& nack);
// No answer within so long: the switch has died, or the way to it.
Failure fell_silent(std::uint32_t job, Duration limit, const std::string& switch_name);
// The epoch has used all op numbers.
Failure out_of_numbers(std::uint32_t job);
// The failure for the ops that another op's or job's failure ends.
Failure not_done(std::uint32_t job, std::uint32_t op, const Failure& cause);

}  // namespace tributary::worker
