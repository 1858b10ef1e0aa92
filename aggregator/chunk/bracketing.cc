#include "aggregator/chunk/bracketing.h"

#include <algorithm>
#include <cstring>

#include "core/invariant.h"

namespace tributary::aggregator {

struct Bracketing::Evaluation {
  const Kernels& kernels;
  std::span<const void* const> sources;
  std::size_t n;
  std::span<std::byte* const> scratch;
};

Bracketing::Bracketing(const std::optional<config::Bracket>& declared,
                       const std::vector<bool>& wide)
    : position_(wide.size()) {
  const auto children = static_cast<std::uint32_t>(wide.size());
  child_.reserve(children);
  wide_.reserve(children);
  if (declared) {
    compile(*declared, 1);
  } else {
    for (std::uint32_t c = 0; c < children; ++c) child_.push_back(static_cast<std::uint16_t>(c));
    runs_.push_back({kLeaf, 0, static_cast<std::uint16_t>(children)});
    nodes_.push_back({0, 1});
  }
  TRIBUTARY_INVARIANT(child_.size() == children);
  for (std::size_t p = 0; p < child_.size(); ++p)
    position_[child_[p]] = static_cast<std::uint16_t>(p);
  for (const std::uint16_t child : child_) wide_.push_back(wide[child]);
  runs_.shrink_to_fit();
  nodes_.shrink_to_fit();
}

std::size_t Bracketing::table_bytes() const {
  return (position_.capacity() + child_.capacity()) * sizeof(std::uint16_t) + wide_.capacity() / 8 +
         runs_.capacity() * sizeof(Run) + nodes_.capacity() * sizeof(Node);
}

// Compiles inner brackets first, so that each one's runs stand together.
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
  TRIBUTARY_INVARIANT(sources.size() == child_.size() && scratch.size() + 1 >= depth_);
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
      saturated |= open_run(e, acc, run.first, std::size_t{run.first} + run.count);
    } else {
      saturated |= add_run(e, acc, run.first, std::size_t{run.first} + run.count);
    }
  }
  return saturated;
}

// One pass takes elements only. If accumulators are among them, combining one by one in the same
// order gives the same bits.
bool Bracketing::open_run(const Evaluation& e, void* acc, std::size_t begin,
                          std::size_t end) const {
  std::size_t elements = begin;
  while (elements < end && !wide_[elements]) ++elements;
  if (elements > begin) {
    const bool saturated = e.kernels.fuse(acc, e.sources.data() + begin, elements - begin, e.n);
    return add_run(e, acc, elements, end) || saturated;
  }
  std::memcpy(acc, e.sources[begin], e.n * e.kernels.acc_bytes);
  return add_run(e, acc, begin + 1, end);
}

bool Bracketing::add_run(const Evaluation& e, void* acc, std::size_t begin, std::size_t end) const {
  bool saturated = false;
  for (std::size_t p = begin; p < end; ++p)
    saturated |=
        wide_[p] ? e.kernels.merge(acc, e.sources[p], e.n) : e.kernels.fold(acc, e.sources[p], e.n);
  return saturated;
}

}  // namespace tributary::aggregator
