// Why an op or a job failed, as the caller reads it: one sentence that names job, op, chunk and
// the ranks concerned. All texts of the session are made here.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/time.h"
#include "core/wire/extension.h"
#include "core/wire/header.h"

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
// NACK(reason): the switch refuses this rank. `own_size` is the worker count this rank assumes.
Failure refused(const wire::Packet& nack, std::uint32_t rank, std::uint32_t own_size);
// START announces what this worker cannot accept.
Failure bad_start(std::uint32_t job, const std::string& why);

// RESULT is flagged: the sum left the range of its type (rule 12).
Failure overflowed(const wire::Header& result);

// What is known when an op's time is over.
struct OpTimeout {
  std::uint32_t job = 0;
  std::uint32_t op = 0;
  std::uint32_t chunk = 0;
  Duration limit;
  std::string switch_name;
  std::optional<Duration> silent_for;      // since the switch's last packet; nullopt: never heard
  std::span<const std::uint32_t> missing;  // from the last PENDING about this op
};
Failure timed_out(const OpTimeout& t);
// `last_refusal`: a NACK that was retried; of reason none: there was none.
Failure join_timed_out(std::uint32_t job, Duration limit, const std::string& switch_name,
                       bool answered, std::span<const std::uint32_t> missing,
                       const wire::Header& last_refusal);
// The epoch has had as many ops as there are numbers.
Failure out_of_numbers(std::uint32_t job);
// What an op gets that is not the one concerned.
Failure not_done(std::uint32_t job, std::uint32_t op, const Failure& cause);

}  // namespace tributary::worker
