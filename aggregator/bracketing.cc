#include "aggregator/bracketing.h"

#include <algorithm>
#include <cassert>

namespace tributary::aggregator {

struct Bracketing::Evaluation {
  const Kernels& kernels;
  std::span<const void* const> sources;
  std::size_t n;
  std::span<std::byte* const> scratch;
};

Bracketing::Bracketing(const std::optional<config::Bracket>& declared, std::uint32_t children)
    : position_(children) {
  child_.reserve(children);
  if (declared) {
    compile(*declared, 1);
  } else {
    for (std::uint32_t c = 0; c < children; ++c) child_.push_back(static_cast<std::uint16_t>(c));
    runs_.push_back({kLeaf, 0, static_cast<std::uint16_t>(children)});
    nodes_.push_back({0, 1});
  }
  assert(child_.size() == children);
  for (std::size_t p = 0; p < child_.size(); ++p)
    position_[child_[p]] = static_cast<std::uint16_t>(p);
}

// Inner brackets first, so that each one's runs stand together.
std::uint32_t Bracketing::compile(const config::Bracket& bracket, std::size_t depth) {
  depth_ = std::max(depth_, depth);
  std::vector<Run> mine;
  for (const config::Bracket& item : bracket.items) {
    if (!item.items.empty()) {
      mine.push_back({compile(item, depth + 1), 0, 0});
      continue;
    }
    if (mine.empty() || mine.back().inner != kLeaf)
      mine.push_back({kLeaf, static_cast<std::uint16_t>(child_.size()), 0});
    ++mine.back().count;
    child_.push_back(static_cast<std::uint16_t>(item.rank));
  }
  nodes_.push_back(
      {static_cast<std::uint32_t>(runs_.size()), static_cast<std::uint32_t>(mine.size())});
  runs_.insert(runs_.end(), mine.begin(), mine.end());
  return static_cast<std::uint32_t>(nodes_.size() - 1);
}

bool Bracketing::evaluate(const Kernels& kernels, void* acc, std::span<const void* const> sources,
                          std::size_t n, std::span<std::byte* const> scratch) const {
  assert(sources.size() == child_.size() && scratch.size() + 1 >= depth_);
  return evaluate({kernels, sources, n, scratch}, static_cast<std::uint32_t>(nodes_.size() - 1),
                  acc, 0);
}

bool Bracketing::evaluate(const Evaluation& e, std::uint32_t node, void* acc,
                          std::size_t depth) const {
  bool saturated = false;
  const Node& bracket = nodes_[node];
  for (std::uint32_t r = 0; r < bracket.run_count; ++r) {
    const Run& run = runs_[bracket.first_run + r];
    if (run.inner != kLeaf) {
      void* const value = r == 0 ? acc : e.scratch[depth];
      saturated |= evaluate(e, run.inner, value, depth + 1);
      if (r != 0) saturated |= e.kernels.merge(acc, value, e.n);
    } else if (r == 0) {
      saturated |= e.kernels.fuse(acc, e.sources.data() + run.first, run.count, e.n);
    } else {
      for (std::size_t p = run.first; p < std::size_t{run.first} + run.count; ++p)
        saturated |= e.kernels.fold(acc, e.sources[p], e.n);
    }
  }
  return saturated;
}

}  // namespace tributary::aggregator
