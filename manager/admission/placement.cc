// A knapsack over the tree, twice. The first counts: most[v][k] is how many workers the best
// connected set of k sites with v on top has, which gives the fewest sites. The second, for that
// number only, keeps for each (v, k) the choices of which none has more workers at less load, and
// of these only what can still become a solution that is no worse than those found.
#include "manager/admission/placement.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace tributary::manager {
namespace {

using Counts = std::vector<std::int64_t>;  // by number of sites
constexpr std::int64_t kNoSet = -1;

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

// The hosts in the part of the tree below each site, itself included.
std::vector<std::size_t> hosts_below(const std::vector<Site>& sites) {
  std::vector<std::size_t> hosts(sites.size());
  for (std::size_t v = sites.size(); v-- > 0;) {
    hosts[v] += sites[v].hosts ? 1 : 0;
    if (sites[v].parent) hosts[*sites[v].parent] += hosts[v];
  }
  return hosts;
}

// `must`: with some of b.
Counts merged(const Counts& a, const Counts& b, bool must, std::size_t most_sites) {
  if (a.empty() || b.empty()) return must ? Counts{} : a;
  Counts out(std::min(a.size() + b.size() - 1, most_sites + 1), kNoSet);
  for (std::size_t i = 1; i < a.size(); ++i)
    for (std::size_t j = must ? 1 : 0; j < b.size() && i + j < out.size(); ++j)
      if (a[i] != kNoSet && (j == 0 || b[j] != kNoSet))
        out[i + j] = std::max(out[i + j], a[i] + (j == 0 ? 0 : b[j]));
  return out;
}

std::size_t count_hosts(const std::vector<Site>& sites) {
  return static_cast<std::size_t>(
      std::ranges::count_if(sites, [](const Site& site) { return site.hosts; }));
}

// The workers that a host and all below it may give: one at least has to be elsewhere. 0: none.
template <typename Count>
Count as_host(Count there, std::uint32_t workers) {
  return std::min(there, static_cast<Count>(workers - 1));
}

// The least number of sites that hold so many workers, under any top; nullopt: none do.
std::optional<std::size_t> fewest_sites(const std::vector<Site>& sites, std::uint32_t workers) {
  const auto children = children_of(sites);
  const auto hosts = hosts_below(sites);
  const std::size_t all_hosts = count_hosts(sites);
  std::vector<Counts> counts(sites.size());
  std::size_t fewest = sites.size() + 1;
  for (std::size_t v = sites.size(); v-- > 0;) {
    if (!sites[v].usable) continue;
    Counts own = {kNoSet, sites[v].workers};
    for (const std::size_t child : children[v])
      own = merged(own, counts[child], hosts[child] > 0, fewest);
    if (sites[v].hosts)
      for (std::int64_t& there : own)
        if ((there = as_host(there, workers)) <= 0) there = kNoSet;
    if (hosts[v] == all_hosts)
      for (std::size_t k = 1; k < own.size() && k < fewest; ++k)
        if (own[k] >= workers) fewest = k;
    counts[v] = std::move(own);
    for (const std::size_t child : children[v]) counts[child] = {};
  }
  return fewest > sites.size() ? std::nullopt : std::optional(fewest);
}

// Two choices for separate parts of the tree, together.
struct Pair {
  const Choice* a = nullptr;
  const Choice* b = nullptr;  // nullptr: none of that part
  std::uint32_t workers = 0;
  std::uint32_t load = 0;

  [[nodiscard]] std::size_t site(std::size_t i) const {
    return i < a->sites.size() ? a->sites[i] : b->sites[i - a->sites.size()];
  }
  [[nodiscard]] std::size_t size() const {
    return a->sites.size() + (b == nullptr ? 0 : b->sites.size());
  }
};

bool has_lower_sites(const Pair& x, const Pair& y) {
  for (std::size_t i = 0; i < x.size() && i < y.size(); ++i)
    if (x.site(i) != y.site(i)) return x.site(i) < y.site(i);
  return x.size() < y.size();
}

// Those of which none has more workers at less load.
Front best_of(std::vector<Pair>& pairs) {
  std::sort(pairs.begin(), pairs.end(), [](const Pair& x, const Pair& y) {
    if (x.load != y.load) return x.load < y.load;
    if (x.workers != y.workers) return x.workers > y.workers;
    return has_lower_sites(x, y);
  });
  std::vector<Pair> kept;
  for (const Pair& pair : pairs)
    if (kept.empty() || pair.workers > kept.back().workers) kept.push_back(pair);
  // The largest has to stay: others may depend on its workers.
  if (kept.size() > kFront) kept.erase(kept.begin() + kFront - 1, kept.end() - 1);
  Front front;
  for (const Pair& pair : kept) {
    Choice choice{pair.workers, pair.load, pair.a->sites};
    if (pair.b != nullptr)
      choice.sites.insert(choice.sites.end(), pair.b->sites.begin(), pair.b->sites.end());
    front.push_back(std::move(choice));
  }
  return front;
}

// The search: for `number` sites with `workers` together, of which none has more than `most`.
struct Goal {
  std::size_t number = 0;
  std::uint32_t workers = 0;
  std::uint32_t most = 0;
  std::uint32_t load = std::numeric_limits<std::uint32_t>::max();  // of the best so far

  // Whether a choice of so many sites may become a part of the best one.
  [[nodiscard]] bool in_reach(std::size_t sites, std::uint32_t there,
                              std::uint32_t its_load) const {
    return its_load <= load && there + std::uint64_t{number - sites} * most >= workers;
  }
};

std::vector<Front> merged(const std::vector<Front>& a, const std::vector<Front>& b, bool must,
                          const Goal& goal) {
  if (a.empty() || b.empty()) return must ? std::vector<Front>{} : a;
  std::vector<Front> out(std::min(a.size() + b.size() - 1, goal.number + 1));
  std::vector<Pair> pairs;
  for (std::size_t k = 1; k < out.size(); ++k) {
    pairs.clear();
    const auto add = [&](const Pair& pair) {
      if (goal.in_reach(k, pair.workers, pair.load)) pairs.push_back(pair);
    };
    if (k < a.size() && !must)
      for (const Choice& x : a[k]) add({&x, nullptr, x.workers, x.load});
    for (std::size_t i = 1; i < a.size() && i < k; ++i) {
      if (k - i >= b.size()) continue;
      for (const Choice& x : a[i])
        for (const Choice& y : b[k - i])
          add({&x, &y, std::min(x.workers + y.workers, goal.workers), x.load + y.load});
    }
    out[k] = best_of(pairs);
  }
  return out;
}

std::optional<Choice> least_load(const std::vector<Site>& sites, std::uint32_t workers,
                                 std::size_t number) {
  const auto children = children_of(sites);
  const auto hosts = hosts_below(sites);
  const std::size_t all_hosts = count_hosts(sites);
  Goal goal{.number = number, .workers = workers};
  for (const Site& site : sites)
    if (site.usable) goal.most = std::max(goal.most, site.workers);
  std::vector<std::vector<Front>> fronts(sites.size());
  std::optional<Choice> best;
  for (std::size_t v = sites.size(); v-- > 0;) {
    if (!sites[v].usable) continue;
    std::vector<Front> own(2);
    const std::uint32_t there = std::min(sites[v].workers, workers);
    if (goal.in_reach(1, there, sites[v].load)) own[1] = {{there, sites[v].load, {v}}};
    for (const std::size_t child : children[v])
      own = merged(own, fronts[child], hosts[child] > 0, goal);
    if (sites[v].hosts)
      for (Front& front : own) {
        for (Choice& choice : front) choice.workers = as_host(choice.workers, workers);
        std::erase_if(front, [](const Choice& choice) { return choice.workers == 0; });
      }
    if (own.size() > number && hosts[v] == all_hosts)
      for (const Choice& choice : own[number])
        if (choice.workers >= workers && (!best || choice.load <= best->load)) best = choice;
    if (best) goal.load = best->load;
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
