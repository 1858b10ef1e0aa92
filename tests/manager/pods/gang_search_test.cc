// The search against a reference that tries everything: it finds a placement exactly where there is
// one (C2), and what it finds is one.
#include "manager/pods/gang_search.h"

#include <gtest/gtest.h>

#include <numeric>

#include "core/prng.h"
#include "tests/manager/pods/nodes.h"

namespace tributary::manager {
namespace {

struct Case {
  std::vector<Node> nodes;
  Gang gang;
};

Device random_device(Prng& random, std::size_t number) {
  Device device = npu("d" + std::to_string(number), random.below(4) * 0.3,
                      std::uint64_t{random.below(3)} << 30);
  if (random.below(4) == 0) device.kind = "example.com/gpu";
  if (random.below(8) == 0) device.claimed_by = "other";
  if (random.below(12) == 0) device.problem = "gone";
  return device;
}

Node random_node(Prng& random, std::size_t number) {
  Node made = node("n" + std::to_string(number), {}, random.below(2) == 0 ? "A" : "B");
  const std::size_t devices = random.below(4);
  for (std::size_t i = 0; i < devices; ++i) made.devices.push_back(random_device(random, i));
  made.ready = random.below(10) != 0;
  made.cpu_millis = 1000 * random.below(4);
  if (random.below(6) == 0) made.taints = {{"t", "", "NoSchedule"}};
  return made;
}

Ask random_ask(Prng& random, std::size_t number) {
  Ask ask;
  ask.pod = "p" + std::to_string(number);
  if (random.below(4) != 0) ask.devices[kNpu] = 1 + random.below(2);
  if (random.below(4) == 0) ask.devices["example.com/gpu"] = 1;
  ask.cpu_millis = 500 * random.below(4);
  ask.device_memory = std::uint64_t{random.below(3)} << 30;
  if (random.below(3) == 0) ask.load_below[""] = 0.5;
  if (random.below(8) == 0) ask.node = "n0";
  if (random.below(8) == 0 && ask.devices.size() == 1) ask.device = "d1";
  if (random.below(2) == 0) ask.tolerations = {{"t", Toleration::Match::exists, "", ""}};
  return ask;
}

Case random_case(std::uint64_t seed) {
  Prng random(seed);
  Case made;
  const std::size_t nodes = 1 + random.below(3);
  for (std::size_t i = 0; i < nodes; ++i) made.nodes.push_back(random_node(random, i));
  const std::size_t pods = 1 + random.below(4);
  for (std::size_t i = 0; i < pods; ++i)
    // Some pods are alike, as in real groups.
    made.gang.asks.push_back(i > 0 && random.below(2) == 0 ? made.gang.asks[0]
                                                           : random_ask(random, i));
  for (std::size_t i = 0; i < pods; ++i) made.gang.asks[i].pod = "p" + std::to_string(i);
  made.gang.least = 1 + random.below(static_cast<std::uint32_t>(pods));
  return made;
}

// Written apart from the filter: a device a pod may have.
bool may_have(const Device& device, const Ask& ask) {
  const double below = ask.load_below.empty() ? 0.9 : ask.load_below.begin()->second;
  return device.problem.empty() && device.claimed_by.empty() && device.load < below &&
         device.free_bytes >= ask.device_memory;
}

bool fits(const Node& node, const Ask& ask, unsigned mask) {
  if (!node.ready || (!ask.node.empty() && ask.node != node.name)) return false;
  if (!node.taints.empty() && ask.tolerations.empty()) return false;
  if (node.cpu_millis_used + ask.cpu_millis > node.cpu_millis) return false;
  std::map<std::string, std::uint32_t> chosen;
  bool named = ask.device.empty();
  for (std::size_t i = 0; i < node.devices.size(); ++i) {
    if ((mask >> i & 1) == 0) continue;
    if (!may_have(node.devices[i], ask)) return false;
    ++chosen[node.devices[i].kind];
    named = named || node.devices[i].name == ask.device;
  }
  return chosen == ask.devices && named;
}

void claim(Node& node, const Ask& ask, unsigned mask, const std::string& by) {
  for (std::size_t i = 0; i < node.devices.size(); ++i)
    if ((mask >> i & 1) != 0) node.devices[i].claimed_by = by;
  node.cpu_millis_used += by.empty() ? 0 - ask.cpu_millis : ask.cpu_millis;
}

bool reference(Case& c, std::size_t at, std::size_t placed) {
  if (at == c.gang.asks.size()) return placed >= c.gang.least;
  const Ask& ask = c.gang.asks[at];
  for (Node& node : c.nodes) {
    for (unsigned mask = 0; mask < 1u << node.devices.size(); ++mask) {
      if (!fits(node, ask, mask)) continue;
      claim(node, ask, mask, ask.pod);
      const bool found = reference(c, at + 1, placed + 1);
      claim(node, ask, mask, "");
      if (found) return true;
    }
  }
  return reference(c, at + 1, placed);
}

// Every spot is allowed where those before it are taken.
void check_placement(Case c, const std::vector<std::optional<Spot>>& spots) {
  std::size_t placed = 0;
  for (std::size_t i = 0; i < spots.size(); ++i) {
    if (!spots[i]) continue;
    unsigned mask = 0;
    for (const std::size_t device : spots[i]->devices) mask |= 1u << device;
    ASSERT_TRUE(fits(c.nodes[spots[i]->node], c.gang.asks[i], mask)) << "pod " << i;
    claim(c.nodes[spots[i]->node], c.gang.asks[i], mask, c.gang.asks[i].pod);
    ++placed;
  }
  ASSERT_GE(placed, c.gang.least);
}

TEST(GangSearch, C2_FindsAPlacementExactlyWhereThereIsOne) {
  std::size_t found = 0;
  for (std::uint64_t seed = 1; seed <= 10'000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Case c = random_case(seed);
    std::vector<std::size_t> all(c.nodes.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    const Distances distances;
    const Thresholds thresholds;
    GangSearch search(c.nodes, c.gang, all, distances, thresholds);
    const bool placed = search.run();
    ASSERT_FALSE(search.gave_up());
    ASSERT_EQ(placed, reference(c, 0, 0));
    if (!placed) continue;
    ++found;
    check_placement(c, search.spots());
  }
  EXPECT_GT(found, 1000u);
  EXPECT_LT(found, 9000u);
}

TEST(GangSearch, AHopelessSearchEnds) {
  // Each node fits one pod by CPU, no two are alike, and one pod is too many.
  std::vector<Node> nodes;
  Gang gang;
  for (std::size_t i = 0; i < 24; ++i) {
    nodes.push_back(node("n" + std::to_string(i), {npu("a", 0.01 * static_cast<double>(i))}));
    gang.asks.push_back(npu_ask("p" + std::to_string(i)));
    gang.asks.back().cpu_millis = i;
  }
  gang.asks.push_back(npu_ask("last"));
  gang.least = gang.asks.size();
  std::vector<std::size_t> all(nodes.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  const Distances distances;
  const Thresholds thresholds;
  GangSearch search(nodes, gang, all, distances, thresholds);
  EXPECT_FALSE(search.run());
  EXPECT_TRUE(search.gave_up());
}

}  // namespace
}  // namespace tributary::manager
