// A knapsack over the tree, twice. The first counts: most[v][k] is how many workers the best
// connected set of k sites with v on top has, which gives the fewest sites. The second, for that
// number only, keeps for each (v, k) the choices of which none has more workers at less load.
#include "manager/admission/placement.h"

#include <algorithm>
#include <tuple>

namespace tributary::manager {
namespace {

using Counts = std::vector<std::uint32_t>;  // by number of sites; [0] is 0: none

struct Choice {
  std::uint32_t workers = 0;
  std::uint32_t load = 0;
  std::vector<std::size_t> sites;
};
// Ascending in workers and in load.
using Front = std::vector<Choice>;
// More than a handful are alike: loads are percents.
constexpr std::size_t kFront = 128;

std::vector<std::vector<std::size_t>> children_of(const std::vector<Site>& sites) {
  std::vector<std::vector<std::size_t>> children(sites.size());
  for (std::size_t i = 0; i < sites.size(); ++i)
    if (sites[i].parent) children[*sites[i].parent].push_back(i);
  return children;
}

Counts merged(const Counts& a, const Counts& b, std::size_t most_sites) {
  Counts out(std::min(a.size() + b.size() - 1, most_sites + 1), 0);
  for (std::size_t i = 1; i < a.size(); ++i)
    for (std::size_t j = 0; j < b.size() && i + j < out.size(); ++j)
      out[i + j] = std::max(out[i + j], a[i] + b[j]);
  return out;
}

// The least number of sites that hold so many workers, under any top; nullopt: none do.
std::optional<std::size_t> fewest_sites(const std::vector<Site>& sites, std::uint32_t workers) {
  const auto children = children_of(sites);
  std::vector<Counts> counts(sites.size());
  std::size_t fewest = sites.size() + 1;
  for (std::size_t v = sites.size(); v-- > 0;) {
    if (!sites[v].usable) continue;
    Counts own = {0, sites[v].workers};
    for (const std::size_t child : children[v])
      if (!counts[child].empty()) own = merged(own, counts[child], fewest);
    for (std::size_t k = 1; k < own.size() && k < fewest; ++k)
      if (own[k] >= workers) fewest = k;
    counts[v] = std::move(own);
    for (const std::size_t child : children[v]) counts[child] = {};
  }
  return fewest > sites.size() ? std::nullopt : std::optional(fewest);
}

void prune(Front& front) {
  std::sort(front.begin(), front.end(), [](const Choice& a, const Choice& b) {
    return std::tuple(a.load, b.workers, a.sites) < std::tuple(b.load, a.workers, b.sites);
  });
  Front kept;
  for (Choice& choice : front)
    if (kept.empty() || choice.workers > kept.back().workers) kept.push_back(std::move(choice));
  // The largest has to stay: others may depend on its workers.
  if (kept.size() > kFront) kept.erase(kept.begin() + kFront - 1, kept.end() - 1);
  front = std::move(kept);
}

std::vector<Front> merged(const std::vector<Front>& a, const std::vector<Front>& b,
                          std::size_t most_sites, std::uint32_t enough) {
  std::vector<Front> out(std::min(a.size() + b.size() - 1, most_sites + 1));
  for (std::size_t i = 1; i < a.size() && i < out.size(); ++i) {
    out[i].insert(out[i].end(), a[i].begin(), a[i].end());
    for (std::size_t j = 1; j < b.size() && i + j < out.size(); ++j)
      for (const Choice& x : a[i])
        for (const Choice& y : b[j]) {
          Choice both = x;
          both.workers = std::min(x.workers + y.workers, enough);
          both.load += y.load;
          both.sites.insert(both.sites.end(), y.sites.begin(), y.sites.end());
          out[i + j].push_back(std::move(both));
        }
  }
  for (Front& front : out) prune(front);
  return out;
}

std::optional<Choice> least_load(const std::vector<Site>& sites, std::uint32_t workers,
                                 std::size_t number) {
  const auto children = children_of(sites);
  std::vector<std::vector<Front>> fronts(sites.size());
  std::optional<Choice> best;
  for (std::size_t v = sites.size(); v-- > 0;) {
    if (!sites[v].usable) continue;
    std::vector<Front> own(2);
    own[1] = {{std::min(sites[v].workers, workers), sites[v].load, {v}}};
    for (const std::size_t child : children[v])
      if (!fronts[child].empty()) own = merged(own, fronts[child], number, workers);
    if (own.size() > number)
      for (const Choice& choice : own[number])
        if (choice.workers >= workers && (!best || choice.load <= best->load)) best = choice;
    fronts[v] = std::move(own);
    for (const std::size_t child : children[v]) fronts[child] = {};
  }
  return best;
}

}  // namespace

std::optional<std::vector<std::size_t>> place(const std::vector<Site>& sites,
                                              std::uint32_t workers) {
  const auto number = fewest_sites(sites, workers);
  if (!number) return std::nullopt;
  auto best = least_load(sites, workers, *number);
  if (!best) return std::nullopt;
  std::sort(best->sites.begin(), best->sites.end());
  return best->sites;
}

}  // namespace tributary::manager
