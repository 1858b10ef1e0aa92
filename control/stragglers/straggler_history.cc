#include "control/stragglers/straggler_history.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>

namespace tributary::control {
namespace {

std::vector<std::uint32_t> by_lateness(std::span<const Duration> lateness) {
  std::vector<std::uint32_t> order(lateness.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return lateness[a] > lateness[b]; });
  return order;
}

}  // namespace

std::vector<std::uint32_t> largest(std::span<const Duration> lateness, std::size_t n) {
  std::vector<std::uint32_t> order = by_lateness(lateness);
  order.resize(std::min(n, order.size()));
  return order;
}

std::vector<std::uint32_t> above(std::span<const Duration> lateness, Duration limit) {
  std::vector<std::uint32_t> order = by_lateness(lateness);
  std::erase_if(order, [&](std::uint32_t child) { return lateness[child] <= limit; });
  return order;
}

StragglerHistory::StragglerHistory(const config::StragglerPolicy& policy, std::uint32_t children)
    : policy_(policy), children_(children) {
  if (const auto mistake = config::mistake_in(policy))
    throw std::invalid_argument(mistake->key + (": " + mistake->text));
  ring_.resize(std::size_t{policy.ops} * children);
}

void StragglerHistory::reset() {
  std::fill(children_.begin(), children_.end(), Child());
  ops_ = 0;
}

void StragglerHistory::set_excluded(std::uint32_t child, bool excluded) {
  children_[child] = {excluded, 0};
}

std::vector<Duration> StragglerHistory::combined() const {
  std::vector<Duration> all(children_.size());
  if (ops_ < policy_.ops) return all;
  const bool mean = policy_.combine == config::Combine::mean;
  for (std::size_t child = 0; child < all.size(); ++child) {
    for (std::size_t op = 0; op < policy_.ops; ++op) {
      const Duration lateness = ring_[op * all.size() + child];
      all[child] = mean ? all[child] + lateness : std::max(all[child], lateness);
    }
    if (mean) all[child] = all[child] / policy_.ops;
  }
  return all;
}

// The latest first.
std::vector<std::uint32_t> StragglerHistory::candidates() const {
  const std::vector<Duration> lateness = combined();
  switch (policy_.exclude) {
    case config::ExcludeBy::largest: {
      std::vector<std::uint32_t> late = largest(lateness, policy_.most);
      std::erase_if(late, [&](auto child) { return lateness[child] <= policy_.recovered_below; });
      return late;
    }
    case config::ExcludeBy::threshold: return above(lateness, policy_.threshold);
    case config::ExcludeBy::none: break;
  }
  return {};
}

StragglerHistory::Changes StragglerHistory::add(std::span<const Duration> lateness) {
  std::copy_n(lateness.begin(), children_.size(),
              ring_.begin() + static_cast<long>(ops_ % policy_.ops * children_.size()));
  ++ops_;
  Changes changes;
  for (std::uint32_t child = 0; child < children_.size(); ++child) {
    Child& c = children_[child];
    c.well_for = lateness[child] < policy_.recovered_below ? c.well_for + 1 : 0;
    if (!c.excluded || c.well_for < policy_.recovered_ops) continue;
    c.excluded = false;
    changes.take_back.push_back(child);
  }
  auto excluded = static_cast<std::size_t>(
      std::count_if(children_.begin(), children_.end(), [](const Child& c) { return c.excluded; }));
  std::size_t most = children_.size() - 1;
  if (policy_.exclude == config::ExcludeBy::largest)
    most = std::min<std::size_t>(most, policy_.most);
  for (const std::uint32_t child : candidates()) {
    // A child that is well again is not blamed for the ops before.
    if (children_[child].excluded || children_[child].well_for >= policy_.recovered_ops) continue;
    if (excluded == most) break;
    ++excluded;
    children_[child].excluded = true;
    changes.exclude.push_back(child);
  }
  return changes;
}

}  // namespace tributary::control
