// Path commands must not make a loop: also while some switches have the new ones and others still
// the old ones. So no cycle may be in old ∪ new, for each destination.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tributary::telemetry {

// At node `at`, what is for `destination` leaves to node `next`. Indices of nodes.
struct PathCommand {
  std::uint64_t destination = 0;
  std::size_t at = 0;
  std::size_t next = 0;
  bool operator==(const PathCommand&) const = default;
};

// A cycle in the union for one destination: its nodes in order, the first one once.
std::optional<std::vector<std::size_t>> find_cycle(std::span<const PathCommand> old_commands,
                                                   std::span<const PathCommand> new_commands);
// "a -> b -> a"
std::string cycle_text(std::span<const std::string> names, const std::vector<std::size_t>& cycle);

}  // namespace tributary::telemetry
