#include "config/check/check_sums.h"

#include <string>

#include "config/model/bracketing.h"
#include "config/plan/aggregation_memory.h"

namespace tributary::config {
namespace {

std::string job_path(std::size_t i, const char* key) {
  return item_path("jobs", i) + '.' + key;
}

bool windows_usable(const SwitchConfig& config, const ReadContext& context) {
  for (std::size_t i = 0; i < config.jobs.size(); ++i)
    if (!context.usable(job_path(i, "window")) || !context.usable(job_path(i, "slots")))
      return false;
  return context.usable("jobs") && context.usable("switch.slots");
}

void check_slots(const SwitchConfig& config, ReadContext& context) {
  if (!windows_usable(config, context)) return;
  std::uint64_t partitions = 0;
  for (const JobConfig& job : config.jobs)
    if (job.slots == SlotMode::partition) partitions += std::uint64_t{job.window} * job.planes;
  if (partitions > config.slots)
    return context.report("switch.slots",
                          std::to_string(config.slots) +
                              " slots cannot hold the windows of all jobs, " +
                              std::to_string(partitions) + " together; allowed: at least " +
                              std::to_string(partitions) + ", smaller windows or fewer planes");
  const std::uint64_t pool = config.slots - partitions;
  for (std::size_t i = 0; i < config.jobs.size(); ++i) {
    const JobConfig& job = config.jobs[i];
    if (job.slots != SlotMode::dynamic || job.window <= pool) continue;
    context.report(job_path(i, "window"),
                   "a window of " + std::to_string(job.window) +
                       " would collide with itself in a pool of " + std::to_string(pool) +
                       " slots (" + std::to_string(config.slots) + " less " +
                       std::to_string(partitions) + " of static jobs); allowed: at most " +
                       std::to_string(pool) + ", or more switch.slots");
  }
}

void check_order(const JobConfig& job, std::size_t i, ReadContext& context) {
  if (!job.bracketing || !context.usable(job_path(i, "bracketing"))) return;
  const std::string path = job_path(i, "bracketing");
  if (job.order != wire::Order::reproducible)
    return context.report(path, "has no meaning with order: fast; allowed: order: reproducible");
  if (context.usable(job_path(i, "workers")))
    if (const auto problem = bracketing_problem(*job.bracketing, job.workers))
      return context.report(path, *problem);
  if (bracket_depth(job) > 1 && job.partials == wire::Partials::narrow)
    context.report(path,
                   "inner brackets would be rounded at each switch, which differs from tree to "
                   "tree; allowed: partials: wide, or no inner brackets");
}

void check_reductions(const JobConfig& job, std::size_t i, ReadContext& context) {
  for (std::size_t r = 0; r < job.reductions.size(); ++r) {
    const std::string path = item_path(job_path(i, "reductions"), r);
    if (!context.usable(path) || !context.usable(job_path(i, "partials"))) continue;
    const auto [dtype, op] = job.reductions[r];
    if (const char* const why = wire::why_invalid(dtype, op, job.partials))
      context.report(path, std::string("'") + wire::name_of(dtype) + ' ' + wire::name_of(op) +
                               "' makes no sense: " + why);
  }
}

void check_completion_trigger(const JobConfig& job, std::size_t i, ReadContext& context) {
  if (job.completion_trigger == Trigger::streaming && job.order == wire::Order::reproducible)
    context.report(
        job_path(i, "completion_trigger"),
        "sums in order of arrival are not reproducible; allowed: collect, or order: fast");
}

// `preempts`: whether the switch lets jobs take slots from others at all.
void check_slot_use(const JobConfig& job, std::size_t i, bool preempts, ReadContext& context) {
  const bool dynamic = job.slots == SlotMode::dynamic;
  if (!dynamic && job.quota != 0)
    context.report(job_path(i, "quota"), "a static job has its window; allowed: slots: dynamic");
  if (!dynamic && job.priority != 0)
    context.report(job_path(i, "priority"),
                   "a static job shares no slots; allowed: slots: dynamic");
  if (dynamic && job.priority != 0 && !preempts)
    context.report(
        job_path(i, "priority"),
        "no job loses a slot here; allowed: with switch.preempt_idle or switch.preempt_busy");
  if (job.release == Release::returned && !job.verify && !spans_switches(job))
    context.report(job_path(i, "release"),
                   "no result returns to a switch that makes it; allowed: release: sent, or "
                   "verify: true");
}

void check_memory(const SwitchConfig& config, ReadContext& context) {
  if (!context.usable("switch.memory.aggregation_megabytes") || !context.usable("jobs") ||
      !windows_usable(config, context))
    return;
  const std::uint64_t budget = std::uint64_t{config.memory.aggregation_megabytes} << 20;
  const AggregationMemory need = aggregation_memory(config);
  if (need.total() <= budget) return;
  const std::uint64_t megabytes = (need.total() + (1u << 20) - 1) >> 20;
  std::string text = describe_memory(config);
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos;)
    text.replace(at, 1, at + 1 == text.size() ? "" : "; ");
  context.report("switch.memory.aggregation_megabytes",
                 std::to_string(config.memory.aggregation_megabytes) + " MiB, " +
                     std::to_string(budget) + " bytes, cannot hold the " +
                     std::to_string(need.total()) + " that the jobs need: " + text +
                     "; allowed: at least " + std::to_string(megabytes));
}

}  // namespace

void check_sums(const SwitchConfig& config, ReadContext& context) {
  check_slots(config, context);
  for (std::size_t i = 0; i < config.jobs.size(); ++i) {
    check_order(config.jobs[i], i, context);
    check_reductions(config.jobs[i], i, context);
    check_slot_use(config.jobs[i], i, config.preempt_idle > Duration() || config.preempt_busy,
                   context);
    check_completion_trigger(config.jobs[i], i, context);
  }
  check_memory(config, context);
}

}  // namespace tributary::config
