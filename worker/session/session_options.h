// The settings of a session.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "core/time.h"
#include "core/wire/drain.h"
#include "core/wire/open_job.h"

namespace tributary::worker {

struct SessionOptions {
  std::uint32_t job = 0;
  std::uint32_t rank = 0;
  std::uint32_t size = 0;
  std::uint8_t plane = 0;         // of the job, that this session is for
  std::uint64_t nonce = 0;        // random: tells this incarnation of the rank from earlier ones
  std::uint64_t run_id = 0;       // of all ranks of a start of the program; 0: unknown
  wire::Resumption resumes = {};  // the epoch that this one follows, after a drain
  Duration join_timeout = Duration::seconds(60);
  Duration join_spent;         // part of it, spent before the first session
  bool fail_if_taken = false;  // see worker/api/communicator.h
  Duration op_timeout = Duration::seconds(60);
  // Brought by this rank's JOIN: a job that the switch may not have yet (A4).
  std::optional<wire::OpenJob> open = std::nullopt;
  bool waits_for_job = false;             // the switch may come to have it, so JOIN goes on
  std::size_t max_datagram_bytes = 1472;  // in one packet
  std::size_t max_cut_bytes = 0;          // in fragments, if the switch takes them
  std::uint32_t loss_group = 0;           // see worker/api/communicator.h
  bool at_host = false;                   // see there
  bool keeps_models = false;              // in a drain: the caller tells the server of its run
  bool ends_in_silence = false;           // a switch that answers nothing for a lease is lost
  bool needs_all_ranks = false;           // the caller takes no result that lacks ranks
  std::string switch_name;                // for error texts
  std::string silence_hint;               // follows the error about a switch that does not answer
};

}  // namespace tributary::worker
