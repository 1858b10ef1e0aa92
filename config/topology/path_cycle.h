// Pinned paths must not send a frame in a circle.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tributary::config {

// At node `at`, traffic for the destination leaves to node `next`. Both are indices of nodes, and a
// node may have several ways.
struct PathStep {
  std::size_t at = 0;
  std::size_t next = 0;
};

// Finds a cycle: its nodes in order, the first one once. To judge a change while some switches have
// not read it yet, give the steps before it and after it together.
std::optional<std::vector<std::size_t>> find_cycle(std::span<const PathStep> steps);
// "a -> b -> a"
std::string cycle_text(std::span<const std::string> names, const std::vector<std::size_t>& cycle);

}  // namespace tributary::config
