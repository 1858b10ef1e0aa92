#include "telemetry/path/path_chooser.h"

#include <utility>

namespace tributary::telemetry {
namespace {

constexpr std::int64_t kNsPerUs = 1000;
constexpr std::uint64_t kMega = 1'000'000;

std::string figures_text(const PathFigures& figures) {
  return std::to_string(figures.latency.to_ns() / kNsPerUs) + " us, " +
         std::to_string(figures.free_bps / kMega) + " Mb/s free, " + std::to_string(figures.hops) +
         (figures.hops == 1 ? " hop" : " hops");
}

}  // namespace

const char* text_of(PathReason reason) {
  switch (reason) {
    case PathReason::first: return "first path found";
    case PathReason::stays: return "still the best";
    case PathReason::within_margin: return "another is better, by less than the margin";
    case PathReason::settling: return "another is better, not yet for long enough";
    case PathReason::held: return "another is better, too soon after the last move";
    case PathReason::moved: return "moved to a better one";
    case PathReason::link_down: return "a link of the path before is down";
    case PathReason::no_path: break;
  }
  return "no path";
}

bool PathChooser::clearly_better(const PathFigures& a, const PathFigures& b) const {
  const std::int64_t share = 100 - std::int64_t{options_.margin_percent};
  switch (options_.goal) {
    case PathGoal::least_latency:
      return a.latency + options_.least_gain <= b.latency && a.latency * 100 <= b.latency * share;
    case PathGoal::fewest_hops:
      if (a.hops != b.hops) return a.hops < b.hops;
      return a.latency + options_.least_gain <= b.latency && a.latency * 100 <= b.latency * share;
    case PathGoal::most_bandwidth: break;
  }
  return a.free_bps / 100 * static_cast<std::uint64_t>(share) >= b.free_bps &&
         a.free_bps > b.free_bps;
}

PathReason PathChooser::weigh(const Candidate& best, const PathFigures& current, Instant now) {
  if (!clearly_better(best.figures, current)) {
    better_since_.reset();
    return better(options_.goal, best.figures, current) ? PathReason::within_margin
                                                        : PathReason::stays;
  }
  if (!better_since_) better_since_ = now;
  if (now - *better_since_ < options_.settle) return PathReason::settling;
  if (moved_ && now - *moved_ < options_.hold) return PathReason::held;
  return PathReason::moved;
}

void PathChooser::follow(const PathNetwork& network, std::uint16_t egress_port) {
  if (!links_.empty() && network.links[links_.front()].egress_port == egress_port) return;
  const auto take_from = [&](const PathNetwork& of) {
    for (const Candidate& candidate : candidates(of, from_, to_, options_.goal)) {
      if (of.links[candidate.links.front()].egress_port != egress_port) continue;
      follow(candidate.links);
      return true;
    }
    return false;
  };
  if (take_from(network)) return;
  PathNetwork whole = network;  // what is in force may be dead
  for (PathLink& link : whole.links) link.up = true;
  take_from(whole);
}

void PathChooser::follow(const std::vector<std::size_t>& links) {
  if (links_ == links) return;
  links_ = links;
  better_since_.reset();
}

bool PathChooser::was_left(bool has_other, Instant now) {
  if (links_ == dead_ && (!has_other || now - left_at_ < options_.hold)) return true;
  dead_ = links_;
  left_at_ = now;
  return false;
}

PathDecision PathChooser::decide(const PathNetwork& network, Instant now) {
  PathDecision decision;
  decision.candidates = candidates(network, from_, to_, options_.goal);
  const bool had_path = !links_.empty();
  const auto current = had_path ? figures_of(network, links_) : std::nullopt;
  if (current) {
    dead_.clear();
    decision.reason = PathReason::stays;
    if (!decision.candidates.empty() && decision.candidates.front().links != links_)
      decision.reason = weigh(decision.candidates.front(), *current, now);
    else
      better_since_.reset();
    if (decision.reason != PathReason::moved) {
      decision.chosen = {links_, *current};
      return decision;
    }
  } else if (had_path && was_left(!decision.candidates.empty(), now)) {
    decision.reason = PathReason::held;
    decision.chosen = {links_, {kUnknownLatency, 0, links_.size()}};
    return decision;
  } else {
    decision.reason = had_path ? PathReason::link_down : PathReason::first;
  }
  better_since_.reset();
  decision.changed = had_path || !decision.candidates.empty();
  if (decision.candidates.empty()) {
    links_.clear();
    decision.reason = had_path ? PathReason::link_down : PathReason::no_path;
    return decision;
  }
  decision.chosen = decision.candidates.front();
  links_ = decision.chosen.links;
  if (had_path) moved_ = now;
  return decision;
}

std::string explain(const PathNetwork& network, const PathDecision& decision) {
  std::string text = text_of(network, decision.chosen.links) + ": " + text_of(decision.reason);
  for (const Candidate& candidate : decision.candidates)
    text += "\n  " + text_of(network, candidate.links) + ": " + figures_text(candidate.figures);
  return text;
}

}  // namespace tributary::telemetry
