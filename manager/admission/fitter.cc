#include "manager/admission/fitter.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "config/text/lift.h"
#include "config/topology/job_shape.h"
#include "manager/admission/completion_hosts.h"
#include "manager/admission/placement.h"

namespace tributary::manager {
namespace {

using config::Topology;

// Problems that the check finds in a topology with one job; empty: none.
std::string problems_of(const Topology& topology) {
  config::ReadContext context("job " + topology.jobs[0].config.name);
  config::check_topology(topology, context);
  std::string text;
  for (const config::ConfigError& error : context.errors()) {
    std::string line = error.key_path.empty() ? "" : error.key_path + ": ";
    if (line.starts_with("jobs[0]")) line.replace(0, 7, "job");
    text.append(text.empty() ? "" : "\n").append(line).append(error.message);
  }
  return text;
}

Amount used_in(const std::map<std::string, Amount>& used, const std::string& node) {
  const auto at = used.find(node);
  return at == used.end() ? Amount{} : at->second;
}

// The part of the fabric that a job with these members can touch: their switches and all above, and
// the servers with theirs. The check says the same of it, and it is small for a small job. Returns
// the whole fabric where a member is unknown: errors list what is allowed.
Topology part_for(const Topology& topology, const TreeIndex& index, const config::TopologyJob& job,
                  const std::vector<config::TopologyWorker>& left) {
  std::set<std::size_t> kept;
  const auto keep = [&](const std::string& attached_to) {
    auto node = index.switch_at(attached_to);
    while (node && kept.insert(*node).second) node = index.parent_of(*node);
  };
  Topology part;
  std::set<std::string> seen;  // a worker twice is the check's to tell
  for (const config::TopologyMember& member : job.members) {
    if (!seen.insert(member.worker).second) continue;
    const auto gone = std::find_if(
        left.begin(), left.end(), [&](const auto& worker) { return worker.name == member.worker; });
    const auto worker = index.worker_at(member.worker);
    if (gone == left.end() && !worker) return topology;
    part.workers.push_back(gone != left.end() ? *gone : topology.workers[*worker]);
    keep(part.workers.back().attached_to);
  }
  for (const std::string& host : switch_hosts(job.config))
    if (const auto node = index.switch_at(host)) keep(topology.switches[*node].config.name);
  for (const config::TopologyServer& server : topology.servers) keep(server.attached_to);
  part.servers = topology.servers;
  for (const std::size_t node : kept) part.switches.push_back(topology.switches[node]);
  return part;
}

}  // namespace

Fit shape_on(const Topology& topology, const TreeIndex& names, const config::TopologyJob& job,
             const std::vector<config::TopologyWorker>& left) {
  Fit fit;
  Topology part = part_for(topology, names, job, left);
  part.jobs = {job};
  part.jobs[0].config.id = 1;  // any
  fit.shortage = problems_of(part);
  if (!fit.shortage.empty()) return fit;
  const config::TopologyIndex index(part);
  const config::JobShape shape(index, part.jobs[0]);
  for (std::size_t node = 0; node < part.switches.size(); ++node)
    if (part.switches[node].aggregate && shape.takes_part(node))
      fit.needs.emplace(part.switches[node].config.name, need_of(shape.config_at(node)));
  return fit;
}

Fit Fitter::fit(const config::TopologyJob& wanted, std::optional<SwitchAmounts::ByName>& needs,
                const Room& room) const {
  if (wanted.members.empty()) return fit_anywhere(wanted, room);
  if (!needs) {
    Fit shape = shape_on(topology_, index_, wanted);
    if (!shape.shortage.empty()) return shape;
    needs = std::move(shape.needs);
  }
  return fit_members(wanted, *needs, room);
}

Fit Fitter::fit_members(const config::TopologyJob& job, const std::map<std::string, Amount>& needs,
                        const Room& room) const {
  Fit fit;
  const auto add = [&fit](const std::string& lacks) {
    fit.shortage.append(fit.shortage.empty() ? "" : "; ").append(lacks);
  };
  for (const auto& [name, need] : needs) {
    std::string lacks = shortage(name, need, used_in(room.used, name),
                                 amounts_.capacity_at(name, room.despite_refusal));
    if (lacks.empty() && room.held.contains(name)) {
      lacks = "waits for a job before it at " + name;
      fit.held_back = true;
    }
    fit.nodes.insert(name);
    if (lacks.empty()) continue;
    add(lacks);
    fit.full.insert(name);
    // It was accepted before the switch said what it has.
    fit.too_large |= !need.fits_in(amounts_.capacity_at(name, true));
  }
  // It may wait long, and for nothing that others use.
  if (fit.too_large) fit.nodes.clear();
  for (const config::TopologyMember& member : job.members) {
    if (!workers_.is_drained(member.worker)) continue;
    add("worker " + member.worker + " is drained");
    fit.nodes.clear();
  }
  fit.placed = job;
  fit.needs = needs;
  if (before_ != nullptr && !room.despite_refusal) fit_before(fit);
  return fit;
}

// Adds what the job needs of the tree that a move leaves.
void Fitter::fit_before(Fit& fit) const {
  Fit there = shape_on(before_->topology, before_->index, fit.placed, {});
  std::string lacks = there.shortage;
  if (!lacks.empty()) fit.nodes.clear();  // no other job's room is what it waits for
  for (const auto& [name, need] : there.needs) {
    const std::string one =
        shortage(name, need, used_in(before_->used, name), amounts_.capacity_at(name));
    // One that lacks room on both has been named.
    if (one.empty() || !fit.full.insert(name).second) continue;
    lacks.append(lacks.empty() ? "" : "; ").append(one);
  }
  fit.needs_before = std::move(there.needs);
  if (lacks.empty()) return;
  fit.shortage.append(fit.shortage.empty() ? "" : "; ")
      .append(lacks)
      .append(", while ")
      .append(before_->text);
}

std::vector<Site> Fitter::sites_in(const Room& room) const {
  std::vector<Site> sites = index_.sites();
  for (std::size_t i = 0; i < sites.size(); ++i) {
    const std::string& name = topology_.switches[index_.node_of(i)].config.name;
    sites[i].workers = workers_.at_site(i);
    sites[i].load =
        percent(used_in(room.used, name), amounts_.capacity_at(name, room.despite_refusal));
    sites[i].usable = !room.held.contains(name);
  }
  return sites;
}

// A switch takes part only with a worker below it, and the job's root is the lowest switch above
// all of them: puts a worker below each host first, and one that is not.
void Fitter::bring_to_hosts(const std::vector<Site>& sites,
                            std::vector<std::size_t>& workers) const {
  std::ptrdiff_t first = 0;
  const auto bring = [&](std::size_t host, bool below) {
    const auto at = std::find_if(workers.begin(), workers.end(), [&](std::size_t worker) {
      std::optional<std::size_t> site = index_.site_of(worker);
      while (site && *site != host) site = sites[*site].parent;
      return site.has_value() == below;
    });
    if (at == workers.end() || at - workers.begin() < first) return;
    std::rotate(workers.begin() + first, at, at + 1);
    ++first;
  };
  for (const bool below : {true, false})
    for (std::size_t host = 0; host < sites.size(); ++host)
      if (sites[host].hosts) bring(host, below);
}

// On the sites that place() chooses, and there on the workers with the fewest jobs; nullopt: none
// are enough.
std::optional<Fit> Fitter::fit_best(const config::TopologyJob& job, const std::vector<Site>& sites,
                                    const Room& room) const {
  const auto chosen = place(sites, job.config.workers);
  if (!chosen) return std::nullopt;
  std::vector<std::size_t> workers;
  for (const std::size_t site : *chosen)
    for (const std::size_t worker : index_.workers_of(site))
      if (workers_.is_free(worker)) workers.push_back(worker);
  std::stable_sort(workers.begin(), workers.end(), [&](std::size_t a, std::size_t b) {
    return workers_.jobs_of(a) < workers_.jobs_of(b);
  });
  bring_to_hosts(sites, workers);
  config::TopologyJob placed = job;
  for (std::uint32_t rank = 0; rank < job.config.workers; ++rank)
    placed.members.push_back({rank, topology_.workers[workers[rank]].name});
  Fit shape = shape_on(topology_, index_, placed);
  if (!shape.shortage.empty()) return shape;
  return fit_members(placed, shape.needs, room);
}

// A switch without room is left out, and the next best choice is tried.
Fit Fitter::fit_anywhere(const config::TopologyJob& job, const Room& room) const {
  std::vector<Site> sites = sites_in(room);
  const std::vector<std::string> hosts = switch_hosts(job.config);
  for (std::size_t site = 0; site < sites.size(); ++site)
    sites[site].hosts =
        config::is_among(hosts, topology_.switches[index_.node_of(site)].config.name);
  const auto name_of = [&](std::size_t site) -> const std::string& {
    return topology_.switches[index_.node_of(site)].config.name;
  };
  bool left_out = !room.held.empty();
  std::optional<Fit> first;
  while (auto found = fit_best(job, sites, room)) {
    if (found->shortage.empty()) return std::move(*found);
    bool more = false;
    for (std::size_t i = 0; i < sites.size(); ++i) {
      if (!sites[i].usable || !found->full.contains(name_of(i))) continue;
      sites[i].usable = false;
      more = left_out = true;
    }
    if (!first || (first->too_large && !found->too_large)) first = std::move(found);
    if (!more) break;  // it is no switch that stands in the way
  }
  if (first) {
    first->held_back |= !room.held.empty();
    return std::move(*first);
  }
  Fit none;
  std::uint32_t there = 0;
  for (const Site& site : sites) there += site.usable ? site.workers : 0;
  none.held_back = !room.held.empty();
  none.shortage =
      "needs " + std::to_string(job.config.workers) +
      " workers on switches that aggregate and are linked" +
      (!hosts.empty() ? ", with some below each of the completion_hosts and some not" : "") + "; " +
      std::to_string(there) + " workers can be used" +
      (left_out ? ", for jobs before it wait for the other switches" : "");
  return none;
}

}  // namespace tributary::manager
