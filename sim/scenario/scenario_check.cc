#include "sim/scenario/scenario_check.h"

#include <algorithm>
#include <map>

#include "config/model/bracketing.h"
#include "config/topology/topology.h"
#include "core/wire/data_name.h"

namespace tributary::sim {
namespace {

void check_op_size(const JobScenario& job, std::size_t index, config::ReadContext& context) {
  const std::string path = config::item_path("jobs", index) + ".op_bytes";
  const std::uint64_t unit = job.payload == Payload::modelled ? job.chunk_bytes : 4;
  if (job.op_bytes % unit != 0)
    context.report(
        path, std::to_string(job.op_bytes) + " is not a multiple of " +
                  (unit == 4 ? "4, the size of int32"
                             : std::to_string(unit) + ": payloads are modelled in whole chunks"));
  // 2^28 elements of a rank are 1 GiB, which a world of several ranks cannot hold anyway.
  if (job.op_bytes / job.payload_scale() > std::uint64_t{1} << 30)
    context.report(path, std::to_string(job.op_bytes) +
                             " bytes are too many to simulate; allowed: at most 1 GiB, or 2^30/8 "
                             "chunks with payload: modelled");
}

void check_sums(const JobScenario& job, std::size_t index, std::uint32_t pool, bool tree,
                config::ReadContext& context) {
  const auto path = [&](const char* key) { return config::item_path("jobs", index) + key; };
  const config::JobConfig& sums = job.sums;
  const bool dynamic = sums.slots == config::SlotMode::dynamic;
  if (dynamic && pool < job.window)
    context.report(path(".window"),
                   "of a dynamic job is larger than pool_slots, " + std::to_string(pool));
  if (!dynamic && (sums.quota != 0 || sums.priority != 0))
    context.report(path(".sums"), "quota and priority need slots: dynamic");
  if (sums.release == config::Release::returned && !sums.verify && !tree)
    context.report(path(".sums.release"), "no result returns; allowed: sent, or verify: true");
  if (sums.completion_trigger == config::Trigger::streaming &&
      sums.order == wire::Order::reproducible)
    context.report(path(".sums.completion_trigger"), "streaming needs order: fast");
  if (job.degraded_after && (sums.on_deadline != config::OnDeadline::escalate ||
                             sums.order != wire::Order::fast || job.model))
    context.report(path(".degraded_after"),
                   "needs on_deadline: escalate and order: fast, and no model");
  if (!sums.bracketing) return;
  if (sums.order != wire::Order::reproducible)
    context.report(path(".sums.bracketing"), "needs order: reproducible");
  if (const auto problem = config::bracketing_problem(*sums.bracketing, job.workers))
    context.report(path(".sums.bracketing"), *problem);
}

// Rejects sums that switches of a tree would round, or could not bracket. `first`: the number of
// the job's rank 0 among all workers.
void check_sums_of_tree(const Scenario& s, std::size_t index, std::uint32_t first,
                        config::ReadContext& context) {
  const JobScenario& job = s.jobs[index];
  const std::string path = config::item_path("jobs", index) + ".sums.";
  if (job.sums.order == wire::Order::reproducible && job.sums.partials == wire::Partials::narrow)
    context.report(path + "partials",
                   "narrow would be rounded at each switch of a tree; allowed: wide");
  if (job.servers > 0 && s.switches.empty())
    context.report(config::item_path("jobs", index) + ".servers",
                   "are not possible in a generated tree; allowed: 0, or switches");
  if (job.servers > 0 && !s.changes.empty())
    context.report(config::item_path("jobs", index) + ".servers",
                   "would not know of changes; allowed: 0");
  if (job.sums.bracketing && !s.changes.empty())
    context.report(path + "bracketing", "fits one tree only, but there are changes");
  if (!job.sums.bracketing || config::bracketing_problem(*job.sums.bracketing, job.workers)) return;
  if (s.switches.empty())
    return context.report(path + "bracketing", "fits no generated tree; allowed: by rank");
  std::map<std::string, std::vector<std::uint32_t>> below;  // ranks at or below a switch
  std::map<std::string, std::string> parents;
  std::uint32_t worker = 0;
  for (const TreeSwitch& sw : s.switches) {
    parents[sw.name] = sw.parent;
    for (std::uint32_t w = 0; w < sw.workers; ++w, ++worker)
      for (std::string at = sw.name; !at.empty(); at = parents[at])
        if (worker >= first && worker < first + job.workers) below[at].push_back(worker - first);
  }
  for (auto& [name, ranks] : below) {
    std::sort(ranks.begin(), ranks.end());
    if (config::find_bracket(*job.sums.bracketing, ranks) == nullptr)
      context.report(path + "bracketing",
                     "the ranks of " + name + ", " + config::ranks_text(ranks) +
                         ", are no bracket of it; allowed: one for each switch");
  }
}

void check_resizes(const JobScenario& job, std::size_t index, bool tree,
                   config::ReadContext& context) {
  for (std::size_t i = 0; i < job.resizes.size(); ++i) {
    const Resize& r = job.resizes[i];
    const std::string path = config::item_path(config::item_path("jobs", index) + ".resizes", i);
    if (i == 0 ? r.op != 0 : r.op <= job.resizes[i - 1].op)
      context.report(path + ".op", "the first is 0, and each is more than the one before");
    if (r.workers > job.workers)
      context.report(path + ".workers",
                     "is more than the job's workers, " + std::to_string(job.workers));
  }
  const config::JobConfig& sums = job.sums;
  if (!job.resizes.empty() &&
      (tree || job.model || job.disagree || job.degraded_after || job.servers > 0 ||
       sums.order != wire::Order::fast || sums.trigger != config::Trigger::streaming))
    context.report(config::item_path("jobs", index) + ".resizes",
                   "need one switch, order: fast, trigger: streaming, and ranks that agree, "
                   "without servers and degraded_after");
}

void check_names(const Scenario& s, std::size_t index, config::ReadContext& context) {
  const JobScenario& job = s.jobs[index];
  if (job.named_bytes > 0 &&
      (job.payload != Payload::real || job.chunk_bytes < wire::kMinNamedChunkBytes ||
       !job.resizes.empty() || s.links.stray_ppm > 0))
    context.report(config::item_path("jobs", index) + ".named_bytes",
                   "needs real payloads, chunk_bytes of at least " +
                       std::to_string(wire::kMinNamedChunkBytes) +
                       ", no resizes and no stray packets; allowed: 0");
}

// Checks the tree of switches.
void check_tree(const Scenario& s, config::ReadContext& context) {
  std::uint32_t workers = 0;
  for (const JobScenario& job : s.jobs) workers += job.workers;
  for (const TreeProblem& p : problems_of(s.switches, workers))
    context.report(config::item_path("switches", p.index) + "." + p.key, p.what);
  const bool generated = s.fat_tree.levels > 0;
  if (generated && !s.switches.empty())
    context.report("fat_tree", "and switches describe two trees; allowed: one of them");
  if (generated && (s.fat_tree.radix == 0 || workers > capacity_of(s.fat_tree)))
    context.report("fat_tree.radix", std::to_string(s.fat_tree.radix) + " children on " +
                                         std::to_string(s.fat_tree.levels) +
                                         " levels have no room for " + std::to_string(workers) +
                                         " workers");
  for (std::size_t i = 0; i < s.changes.size(); ++i) {
    const std::string path = config::item_path("changes", i);
    const TreeChange& change = s.changes[i];
    const std::size_t moved = change.moved_switch.value_or(0);
    if (change.worker >= workers || std::max<std::size_t>(moved, change.to) >= s.switches.size())
      context.report(path, "moves a worker or a switch, or to a switch, that does not exist");
    else if (change.moved_switch && change.to >= moved)
      context.report(path + ".to", std::to_string(change.to) + " may be attached to switch " +
                                       std::to_string(moved) +
                                       "; allowed: switches that stand before it");
    if (i > 0 && s.changes[i].at < s.changes[i - 1].at)
      context.report(path + ".at", "is before the change in front of it");
  }
  if (s.switches.size() < 2 && s.fat_tree.levels < 2) return;
  std::uint32_t first = 0;
  for (std::size_t i = 0; i < s.jobs.size(); ++i) {
    check_sums_of_tree(s, i, first, context);
    first += s.jobs[i].workers;
  }
}

}  // namespace

void check_scenario(const Scenario& s, config::ReadContext& context) {
  if (s.links.delay_max < s.links.delay_min)
    context.report("links.delay_max", "is less than delay_min");
  check_tree(s, context);
  const bool tree = s.switches.size() > 1 || s.fat_tree.levels > 1;
  for (std::size_t i = 0; i < s.jobs.size(); ++i) {
    const JobScenario& job = s.jobs[i];
    const std::string path = config::item_path("jobs", i);
    for (std::size_t k = 0; k < i; ++k)
      if (job.id == s.jobs[k].id) context.report(path + ".id", "is the id of another job, too");
    check_op_size(job, i, context);
    check_sums(job, i, s.pool_slots, tree, context);
    check_resizes(job, i, tree, context);
    check_names(s, i, context);
    if (job.model && (job.servers != 1 || job.depth != 1))
      context.report(path + ".model",
                     "needs one server, and one op at a time; allowed: servers: 1 and depth: 1");
    if (job.host_switches > 0 && (s.switches.empty() || !s.changes.empty() || job.model))
      context.report(path + ".host_switches",
                     "need a tree of `switches` that does not change, and no model; allowed: 0");
    const bool switches_alone = job.host_switches > 0 && job.servers == 0;
    const bool servers_alone =
        job.servers > 0 && job.host_switches == 0 && job.integrity == wire::Integrity::udp_checksum;
    if ((job.notify == wire::Notify::host_switch && !switches_alone) ||
        (job.notify == wire::Notify::direct && !servers_alone))
      context.report(path + ".notify",
                     "needs host_switches alone for switch, servers alone and integrity: "
                     "udp-checksum for direct; allowed: root");
    if (job.servers > s.servers.count)
      context.report(path + ".servers",
                     "are more than servers.count, " + std::to_string(s.servers.count));
    if (job.plane > 0 && (job.servers > 0 || job.host_switches > 0 ||
                          (job.plane + 1) * job.shards > config::kMaxShards))
      context.report(path + ".plane", "needs the root's engine, and (plane + 1) x shards <= 16");
  }
  for (std::size_t i = 0; i < s.script.size(); ++i)
    if (s.script[i].target == ScriptTarget::server && s.servers.count == 0)
      context.report(config::item_path("script", i) + ".target", "there are no servers");
  for (std::size_t i = 0; i < s.script.size(); ++i)
    if (s.script[i].target == ScriptTarget::access && s.access_switches == 0)
      context.report(config::item_path("script", i) + ".target",
                     "there are no access switches; allowed: worker, switch");
}

}  // namespace tributary::sim
