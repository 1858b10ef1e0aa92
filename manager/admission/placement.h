// Which switches a job that names no workers is to use: the fewest that have enough workers, and of
// those choices the one whose switches carry the least load together. Switches that are to host the
// job's completion are among them, with workers below them and others elsewhere: below the root.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace tributary::manager {

// A switch of the tree that aggregates. Parents stand before their children.
struct Site {
  std::optional<std::size_t> parent = {};
  std::uint32_t workers = 0;  // attached to it, that may be used
  std::uint32_t load = 0;     // percent
  bool usable = true;
  bool hosts = false;  // has to be there, with some of the workers below it and some not
};

// Ascending indices of sites that are connected and have `workers` together; nullopt: none are.
std::optional<std::vector<std::size_t>> place(const std::vector<Site>& sites,
                                              std::uint32_t workers);

}  // namespace tributary::manager
