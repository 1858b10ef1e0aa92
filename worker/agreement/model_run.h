// The run of a rank's ops on the model of its job (core/wire/model_run.h): in each epoch, before
// the first of them, rank 0 tells the parameter server which run it is and which op comes next, and
// no op begins before the answer is here.
//
//   epoch ─▶ op on the model is called ─▶ question ─answer─▶ known: ops ─drain or loss─▶ epoch
//
// The server counts the ops of the switch that follow the question, so the ranks do, too: a call
// can be several of those (worker/api/plane_parts.h). Ranks that retry count by their log, since
// what is sent again has the number that it had.
//
// Belongs to the progress thread; worker/api/progress_retry.cc drives it.
#pragma once

#include <cstdint>

#include "core/wire/model_run.h"

namespace tributary::worker {

struct ModelRun {
  std::uint64_t id = 0;         // of the first epoch's START, so equal on all ranks
  std::uint64_t next = 0;       // without retries: the number of the op after the question
  bool goes_on = false;         // the server has answered, in this epoch or an earlier one
  bool known = false;           // in this epoch
  wire::ModelRunWords words{};  // of the question
  std::uint32_t first_op = 0;   // the switch's op after the question

  // The epoch is over, after so many ops of the switch.
  void leave(std::uint32_t next_op) {
    if (known) next += next_op - first_op;
    known = false;
  }
};

}  // namespace tributary::worker
