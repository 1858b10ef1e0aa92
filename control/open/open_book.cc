#include "control/open/open_book.h"

#include <algorithm>
#include <utility>

#include "config/change/change.h"
#include "config/topology/open_job.h"

namespace tributary::control {

using aggregator::OpenRequest;

namespace {

OpenBook::Answer refusal(const config::OpenShortage& lacks, const config::SwitchConfig& running) {
  return {std::nullopt,
          aggregator::open_refused(lacks.limit, running.id, lacks.needed, lacks.there),
          config::text_of(lacks)};
}

OpenBook::Answer refuse_other(const wire::OpenJob& is, const OpenRequest& request,
                              const config::SwitchConfig& running) {
  return {std::nullopt, aggregator::other_task(is, running.id),
          "it has " + wire::text_of(is) + ", and a rank says " + wire::text_of(request.task)};
}

OpenBook::Answer add_if_it_fits(config::JobConfig job, const config::SwitchConfig& running) {
  const config::OpenShortage lacks = config::shortage_of(running, job);
  if (lacks.limit != wire::OpenLimit::none) return refusal(lacks, running);
  return {std::move(job), {}, {}};
}

}  // namespace

OpenBook::Answer OpenBook::decide(const config::SwitchConfig& running, const OpenRequest& request,
                                  Instant now) {
  if (!running.open_jobs.ids.has(request.job)) return {};
  if (const config::JobConfig* const there = config::find_job(running, request.job)) {
    if (!there->open || *there->open == request.task) return {};  // it came a moment ago
    return refuse_other(*there->open, request, running);
  }
  return request.from_switch ? decide_above(running, request, now) : decide_below(running, request);
}

OpenBook::Answer OpenBook::decide_below(const config::SwitchConfig& running,
                                        const OpenRequest& request) {
  const config::OpenJobsConfig& open = running.open_jobs;
  if (request.task.nodes > 1 && !open.parent)
    return refusal({wire::OpenLimit::nodes, request.task.nodes, 1}, running);
  return add_if_it_fits(config::open_below(open, request.job, request.task, request.node), running);
}

OpenBook::Answer OpenBook::decide_above(const config::SwitchConfig& running,
                                        const OpenRequest& request, Instant now) {
  const auto& children = running.open_jobs.children;
  const auto sender = std::find_if(children.begin(), children.end(), [&](const auto& child) {
    return child.id == request.switch_id && child.ipv4 == request.switch_ipv4;
  });
  if (sender == children.end()) return {};
  const std::size_t nodes = request.task.nodes;
  if (nodes > children.size())
    return refusal(
        {wire::OpenLimit::nodes, request.task.nodes, static_cast<std::uint32_t>(children.size())},
        running);
  // As large as it will be with any of them.
  const std::vector<config::OpenNeighbour> some(
      children.begin(), children.begin() + static_cast<std::ptrdiff_t>(nodes));
  Answer answer = add_if_it_fits(config::open_above(request.job, request.task, some), running);
  if (!answer.job) return answer;
  const auto known = gathered_.find(request.job);
  if (known == gathered_.end() && gathered_.size() >= running.open_jobs.jobs) return {};
  Gathered& all = gathered_[request.job];
  if (known == gathered_.end()) all.task = request.task;
  if (all.task != request.task) return refuse_other(all.task, request, running);
  std::erase_if(all.nodes, [&](const auto& node) { return node.second.id == sender->id; });
  all.nodes[request.node] = *sender;
  all.last = now;
  if (all.nodes.size() < nodes) return {};
  std::vector<config::OpenNeighbour> switches;
  for (const auto& [node, neighbour] : all.nodes) switches.push_back(neighbour);
  gathered_.erase(request.job);
  return {config::open_above(request.job, request.task, switches), {}, {}};
}

std::vector<std::uint32_t> OpenBook::silent(const std::vector<Sign>& signs, Duration lease,
                                            Instant now) {
  std::erase_if(gathered_, [&](const auto& one) { return now - one.second.last >= lease; });
  std::map<std::uint32_t, Life> lives;
  std::vector<std::uint32_t> ended;
  for (const Sign& sign : signs) {
    const auto before = lives_.find(sign.job);
    const bool used =
        before == lives_.end() || sign.members > 0 || sign.joins != before->second.joins;
    const Life life{sign.joins, used ? now : before->second.heard};
    lives[sign.job] = life;
    if (now - life.heard >= lease) ended.push_back(sign.job);
  }
  lives_ = std::move(lives);
  return ended;
}

}  // namespace tributary::control
