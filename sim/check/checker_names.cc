// The checker's part that judges named data: a name has one value, and calls end as they must.
#include <algorithm>

#include "sim/check/checker.h"
#include "sim/node/worker_node.h"

namespace tributary::sim {

using worker::NameCall;

void Checker::on_named_call(WorkerNode& node, const NamedCall& named) {
  const bool known = values_put_.contains({node.options().job_index, named.index});
  if (named.call->kind == NameCall::Kind::get && known) asked_known_.insert(named.call.get());
}

void Checker::on_named_end(WorkerNode& node, const NamedCall& named) {
  const NameCall& call = *named.call;
  const bool was_known = asked_known_.erase(&call) != 0;
  const JobScenario& job = *node.options().job;
  if (call.failure) {
    if (call.failure->reason == wire::Reason::name_taken)
      violation(name(node) + ": " + call.failure->text + ", and no rank puts another value");
    if ((call.kind == NameCall::Kind::put || was_known) && must_succeed(node, named))
      violation(name(node) + ": " + call.failure->text);
    return;
  }
  if (call.kind == NameCall::Kind::put) {
    ++reach_.values_put;
    values_put_.insert({node.options().job_index, named.index});
  } else {
    ++reach_.values_got;
    if (call.value != named_value(job, node.options().workload_seed, named.index))
      violation(name(node) + ": got another value than was put as " + call.name);
  }
}

// Nothing but frames was lost, and the producer is there to answer.
bool Checker::must_succeed(const WorkerNode& node, const NamedCall& named) const {
  if (!scenario_.script.empty() || !scenario_.changes.empty() || scenario_.hostile.packets > 0 ||
      sessions_failed_ > 0)
    return false;
  const WorkerOptions& o = node.options();
  const WorkerNode& producer = *ranks_[o.job_index][producer_of(*o.job, named.index)];
  return producer.serves_names() && node.serves_names() && node.session()->epoch() == named.epoch;
}

void Checker::check_no_request_waits(const SwitchNode& node) {
  if (const auto* const names = node.names(); names != nullptr && names->pending() != 0)
    violation(node.name() + ": all nodes are gone, but " + std::to_string(names->pending()) +
              " requests for names wait");
}

}  // namespace tributary::sim
