// What a Request points to. Shared by the caller's Requests and, until the op is finished, by the
// progress thread, which holds `self` meanwhile.
#pragma once

#include <memory>

#include "worker/block_scaled.h"
#include "worker/communicator.h"
#include "worker/completion_flag.h"
#include "worker/op.h"

namespace tributary {

// After `done` is set, the op's failure and data are final.
struct Request::State : worker::Op {
  worker::CompletionFlag done;
  std::shared_ptr<State> self;
  // Of a block-scaled op: its elements, and the op that agrees on their exponents (Op::after).
  std::unique_ptr<worker::BlockScaled> block_scaled;
  std::shared_ptr<State> first;
  std::uint32_t ranks = 0;  // of the job
};

}  // namespace tributary
