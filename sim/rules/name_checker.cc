#include "sim/rules/name_checker.h"

namespace tributary::sim {

using worker::NameCall;

void NameChecker::called(const WorkerNode& node, const NamedCall& named) {
  const bool known = values_put_.contains({node.options().job_index, named.index});
  if (named.call->kind == NameCall::Kind::get && known) asked_known_.insert(named.call.get());
}

void NameChecker::ended(const WorkerNode& node, const NamedCall& named) {
  const NameCall& call = *named.call;
  const bool was_known = asked_known_.erase(&call) != 0;
  const JobScenario& job = *node.options().job;
  if (call.failure) {
    if (call.failure->reason == wire::Reason::name_taken)
      run_.violation(node.name() + ": " + call.failure->text + ", and no rank puts another value");
    if ((call.kind == NameCall::Kind::put || was_known) && must_succeed(node, named))
      run_.violation(node.name() + ": " + call.failure->text);
    return;
  }
  if (call.kind == NameCall::Kind::put) {
    ++run_.reach().values_put;
    values_put_.insert({node.options().job_index, named.index});
  } else {
    ++run_.reach().values_got;
    if (call.value != named_value(job, node.options().workload_seed, named.index))
      run_.violation(node.name() + ": got another value than was put as " + call.name);
  }
}

// Nothing but frames was lost, and the producer is there to answer.
bool NameChecker::must_succeed(const WorkerNode& node, const NamedCall& named) const {
  if (!run_.scenario().script.empty() || !run_.scenario().changes.empty() ||
      run_.scenario().hostile.packets > 0 || failures_.sessions_failed() > 0)
    return false;
  const WorkerOptions& o = node.options();
  const WorkerNode& producer = *run_.ranks(o.job_index)[producer_of(*o.job, named.index)];
  return producer.serves_names() && node.serves_names() && node.session()->epoch() == named.epoch;
}

}  // namespace tributary::sim
