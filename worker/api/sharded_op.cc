#include "worker/api/sharded_op.h"

namespace tributary::worker {

void ShardedOp::finish(Request::State& shard, const std::string& address) {
  // An overflow concerns only this op.
  if (shard.failure && shard.failure->reason != wire::Reason::overflow) {
    if (shard.failure->text.find(address) == std::string::npos)
      shard.failure->text.insert(0, "switch " + address + ": ");
    on_end_(*shard.failure, address);
  }
  {
    const std::lock_guard lock(mutex_);
    whole_->include(shard);
    if (--open_ > 0) return;
  }
  whole_->complete();
  memory_.release(whole_->memory);
  whole_->done.set();
}

}  // namespace tributary::worker
