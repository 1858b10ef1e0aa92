// Where a job would go: the workers it names, or the fewest switches that have enough.
#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>

#include "config/topology/topology_tree.h"
#include "manager/admission/admission.h"
#include "manager/admission/placement.h"

namespace tributary::manager {
namespace {

using config::Topology;

// The part of a fabric that a job with these members can touch: their switches and all above, and
// the servers with theirs. The check says the same of it, and it is small for a small job. Returns
// the whole fabric where a member is unknown: errors list what is allowed.
Topology part_for(const Topology& fabric, const config::TopologyJob& job) {
  std::set<std::size_t> kept;
  const auto keep = [&](const std::string& attached_to) {
    auto node = config::find_switch(fabric, attached_to);
    while (node && kept.insert(*node).second)
      node = config::find_switch(fabric, fabric.switches[*node].parent);
  };
  std::map<std::string, const config::TopologyWorker*> workers;
  for (const config::TopologyWorker& worker : fabric.workers) workers[worker.name] = &worker;
  Topology part;
  for (const config::TopologyMember& member : job.members) {
    const auto worker = workers.find(member.worker);
    if (worker == workers.end() || worker->second == nullptr) return fabric;
    keep(worker->second->attached_to);
    part.workers.push_back(*worker->second);
    worker->second = nullptr;  // a worker twice is the check's to tell
  }
  for (const config::TopologyServer& server : fabric.servers) keep(server.attached_to);
  part.servers = fabric.servers;
  for (const std::size_t node : kept) part.switches.push_back(fabric.switches[node]);
  return part;
}

// The part of a topology's check that is about this job.
std::string problems_of(Topology topology, const config::TopologyJob& job) {
  topology.jobs = {job};
  topology.jobs[0].config.id = 1;  // any
  config::ReadContext context("job " + job.config.name);
  config::check_topology(topology, context);
  std::string text;
  for (const config::ConfigError& error : context.errors()) {
    std::string line = error.key_path.empty() ? "" : error.key_path + ": ";
    if (line.starts_with("jobs[0]")) line.replace(0, 7, "job");
    text.append(text.empty() ? "" : "\n").append(line).append(error.message);
  }
  return text;
}

// The switches of the tree that aggregate, parents first.
struct Sites {
  std::vector<Site> sites;
  std::vector<std::size_t> nodes;                   // of the topology
  std::vector<std::optional<std::size_t>> site_of;  // by node
};

Sites sites_of(const Topology& topology) {
  Sites out;
  out.site_of.resize(topology.switches.size());
  std::vector<std::pair<std::size_t, std::size_t>> by_depth;
  for (std::size_t node = 0; node < topology.switches.size(); ++node) {
    if (!topology.switches[node].aggregate) continue;
    std::size_t depth = 0;
    for (auto hop = config::above(topology, node); hop; hop = config::above(topology, hop->node))
      ++depth;
    by_depth.emplace_back(depth, node);
  }
  std::sort(by_depth.begin(), by_depth.end());
  for (const auto& [depth, node] : by_depth) {
    const auto hop = config::above(topology, node);
    out.site_of[node] = out.sites.size();
    out.sites.push_back({.parent = hop ? out.site_of[hop->node] : std::nullopt});
    out.nodes.push_back(node);
  }
  return out;
}

}  // namespace

Admission::Fit Admission::fit(const JobRequest& request, const Used& used,
                              const std::set<std::string>& held) const {
  return request.job.members.empty() ? fit_anywhere(request.job, used, held)
                                     : fit_members(request.job, used, held);
}

Admission::Fit Admission::fit_members(config::TopologyJob job, const Used& used,
                                      const std::set<std::string>& held) const {
  Fit fit;
  const Topology part = part_for(topology_, job);
  fit.shortage = problems_of(part, job);
  if (!fit.shortage.empty()) return fit;
  for (const config::TopologyMember& member : job.members)
    if (drained_.contains(member.worker))
      fit.shortage.append(fit.shortage.empty() ? "" : "; ")
          .append("worker ")
          .append(member.worker)
          .append(" is drained");
  const config::JobTree tree(part, job);
  for (std::size_t node = 0; node < part.switches.size(); ++node) {
    if (!part.switches[node].aggregate || !tree.takes_part(node)) continue;
    const std::string& name = part.switches[node].config.name;
    const Amount need = need_of(tree.config_at(node));
    const auto in_use = used.find(name);
    std::string lacks =
        shortage(name, need, in_use == used.end() ? Amount{} : in_use->second, capacity_at(name));
    if (lacks.empty() && held.contains(name)) lacks = "waits for a job before it at " + name;
    if (!lacks.empty()) {
      fit.shortage.append(fit.shortage.empty() ? "" : "; ").append(lacks);
      fit.full.insert(name);
    }
    fit.nodes.insert(name);
    fit.needs.emplace(name, need);
  }
  fit.placed = std::move(job);
  return fit;
}

std::map<std::string, Amount> Admission::needs_of(const config::TopologyJob& placed) const {
  if (const std::string problems = problems_of(part_for(topology_, placed), placed);
      !problems.empty())
    throw std::invalid_argument(problems);
  return fit_members(placed, {}, {}).needs;
}

std::map<std::string, std::uint32_t> Admission::jobs_of_workers() const {
  std::map<std::string, std::uint32_t> jobs;
  for (const auto& [name, job] : jobs_)
    if (job.placed)
      for (const config::TopologyMember& member : job.placed->members) ++jobs[member.worker];
  return jobs;
}

Admission::Fit Admission::fit_anywhere(const config::TopologyJob& job, const Used& used,
                                       std::set<std::string> without) const {
  Sites tree = sites_of(topology_);
  std::vector<std::vector<std::string>> workers(tree.sites.size());
  for (const config::TopologyWorker& worker : topology_.workers) {
    const auto hop = config::aggregating(
        topology_,
        config::Hop{config::find_switch(topology_, worker.attached_to).value(), worker.port});
    if (!hop || drained_.contains(worker.name) || !worker.node.empty()) continue;
    const std::size_t site = *tree.site_of[hop->node];
    ++tree.sites[site].workers;
    workers[site].push_back(worker.name);
  }
  auto jobs = jobs_of_workers();
  for (std::size_t i = 0; i < tree.sites.size(); ++i) {
    const std::string& name = topology_.switches[tree.nodes[i]].config.name;
    const auto in_use = used.find(name);
    tree.sites[i].load =
        percent(in_use == used.end() ? Amount{} : in_use->second, capacity_at(name));
  }
  Fit first;
  // A switch without room is left out, and the next best choice is tried.
  for (;;) {
    for (std::size_t i = 0; i < tree.sites.size(); ++i)
      tree.sites[i].usable = !without.contains(topology_.switches[tree.nodes[i]].config.name);
    const auto chosen = place(tree.sites, job.config.workers);
    if (!chosen) break;
    std::vector<std::string> names;
    for (const std::size_t site : *chosen)
      names.insert(names.end(), workers[site].begin(), workers[site].end());
    std::stable_sort(names.begin(), names.end(),
                     [&](const auto& a, const auto& b) { return jobs[a] < jobs[b]; });
    config::TopologyJob placed = job;
    for (std::uint32_t rank = 0; rank < job.config.workers; ++rank)
      placed.members.push_back({rank, names[rank]});
    Fit fit = fit_members(std::move(placed), used, without);
    if (fit.shortage.empty()) return fit;
    if (first.shortage.empty()) first = fit;
    std::size_t more = 0;
    for (const auto& [name, need] : fit.needs) {
      const auto in_use = used.find(name);
      if (!(need + (in_use == used.end() ? Amount{} : in_use->second)).fits_in(capacity_at(name)))
        more += without.insert(name).second ? 1 : 0;
    }
    if (more == 0) break;  // it is no switch that stands in the way
  }
  if (!first.shortage.empty()) return first;
  std::uint32_t there = 0;
  for (const Site& site : tree.sites) there += site.usable ? site.workers : 0;
  first.shortage = "needs " + std::to_string(job.config.workers) +
                   " workers on switches that aggregate and are linked; " + std::to_string(there) +
                   " workers can be used" +
                   (without.empty() ? "" : ", for jobs before it wait for the other switches");
  return first;
}

}  // namespace tributary::manager
