// A job's shape against one that is found switch by switch, in random trees.
#include "config/topology/job_shape.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "config/model/bracketing.h"
#include "core/prng.h"

namespace tributary::config {
namespace {

std::string numbered(const char* word, std::size_t number) {
  return word + std::to_string(number);
}

// Switches in any order, some of which do not aggregate or have a deadline of their own.
Topology random_tree(Prng& random) {
  Topology tree;
  tree.switches.resize(1 + random.below(12));
  for (std::size_t i = 0; i < tree.switches.size(); ++i) {
    TopologySwitch& sw = tree.switches[i];
    sw.config.name = numbered("s", i);
    sw.config.id = static_cast<std::uint32_t>(100 - i);
    sw.config.ipv4 = 0x0A000001u + static_cast<std::uint32_t>(i);
    if (i > 0) {
      sw.parent = numbered("s", random.below(static_cast<std::uint32_t>(i)));
      sw.parent_port = numbered("p", i);
      sw.uplink = "up";
    }
    sw.aggregate = i == 0 || random.below(4) != 0;
    if (random.below(4) == 0)
      sw.deadline = Duration::ms(100 + static_cast<std::int64_t>(random.below(900)));
  }
  for (std::size_t i = tree.switches.size(); i-- > 1;)
    std::swap(tree.switches[i], tree.switches[random.below(static_cast<std::uint32_t>(i + 1))]);
  const auto workers = 1 + random.below(10);
  for (std::size_t i = 0; i < workers; ++i)
    tree.workers.push_back(
        {numbered("w", i),
         numbered("s", random.below(static_cast<std::uint32_t>(tree.switches.size()))),
         numbered("q", i), std::nullopt});
  TopologyJob job;
  job.config.name = "one";
  job.config.workers = static_cast<std::uint32_t>(workers);
  job.config.order = random.below(2) == 0 ? wire::Order::reproducible : wire::Order::fast;
  job.config.deadline = Duration::ms(500);
  for (std::uint32_t rank = 0; rank < workers; ++rank)
    job.members.push_back({rank, numbered("w", workers - 1 - rank)});
  tree.jobs.push_back(job);
  return tree;
}

// By the definitions, with linear searches.
class Reference {
 public:
  explicit Reference(const Topology& tree) : tree_(tree), job_(tree.jobs[0]) {
    for (std::uint32_t rank = 0; rank < job_.config.workers; ++rank) {
      const TopologyWorker& worker = tree.workers[*find_worker(tree, job_.members[rank].worker)];
      places_.push_back(
          *aggregating(tree, Hop{*find_switch(tree, worker.attached_to), worker.port}));
    }
    std::optional<Hop> top = places_[0];
    while (all_ranks(top->node).size() < places_.size()) top = above(tree, top->node);
    top_ = top->node;
  }

  [[nodiscard]] std::size_t top() const { return top_; }
  [[nodiscard]] std::vector<std::uint32_t> ranks_at(std::size_t node) const {
    for (auto over = above(tree_, top_); over; over = above(tree_, over->node))
      if (over->node == node) return {};
    return all_ranks(node);
  }
  [[nodiscard]] std::vector<ChildConfig> children_of(std::size_t node) const {
    std::map<std::uint32_t, ChildConfig> children;  // by the lowest rank
    for (std::uint32_t rank = 0; rank < places_.size(); ++rank)
      if (places_[rank].node == node) children[rank] = {false, rank, 0, places_[rank].port, {rank}};
    for (std::size_t below = 0; below < tree_.switches.size(); ++below) {
      const auto ranks = ranks_at(below);
      const auto hop = above(tree_, below);
      if (below == top_ || ranks.empty() || !hop || hop->node != node) continue;
      const SwitchConfig& config = tree_.switches[below].config;
      children[ranks[0]] = {true, config.id, config.ipv4, hop->port, ranks};
    }
    std::vector<ChildConfig> list;
    for (const auto& [rank, child] : children) list.push_back(child);
    return list;
  }
  [[nodiscard]] std::optional<Duration> deadline_below(std::size_t node) const {
    std::optional<Duration> most;
    for (const ChildConfig& child : children_of(node))
      if (child.is_switch)
        most = std::max(most.value_or(Duration()), deadline_at(node_of(child.id)));
    return most;
  }
  [[nodiscard]] Duration deadline_at(std::size_t node) const {
    if (tree_.switches[node].deadline) return *tree_.switches[node].deadline;
    const auto below = deadline_below(node);
    return below ? deadline_above(*below, job_.config.deadline) : job_.config.deadline;
  }
  [[nodiscard]] Bracket expression_at(std::size_t node) const {
    Bracket all;
    for (const ChildConfig& child : children_of(node)) {
      if (child.is_switch)
        all.items.push_back(expression_at(node_of(child.id)));
      else
        all.items.push_back({{}, child.id});
    }
    return all;
  }

 private:
  [[nodiscard]] std::size_t node_of(std::uint32_t id) const {
    std::size_t node = 0;
    while (tree_.switches[node].config.id != id) ++node;
    return node;
  }
  [[nodiscard]] std::vector<std::uint32_t> all_ranks(std::size_t node) const {
    std::vector<std::uint32_t> ranks;
    for (std::uint32_t rank = 0; rank < places_.size(); ++rank)
      for (std::optional<Hop> hop = places_[rank]; hop; hop = above(tree_, hop->node))
        if (hop->node == node) ranks.push_back(rank);
    return ranks;
  }

  const Topology& tree_;
  const TopologyJob& job_;
  std::vector<Hop> places_;
  std::size_t top_ = 0;
};

void expect_parent(const Reference& expected, const Topology& tree, std::size_t node,
                   const ParentConfig& parent) {
  const std::size_t up = above(tree, node)->node;
  const auto siblings = expected.children_of(up);
  EXPECT_EQ(parent.name, tree.switches[up].config.name);
  EXPECT_EQ(parent.fan_in, siblings.size());
  ASSERT_LT(parent.child, siblings.size());
  EXPECT_EQ(siblings[parent.child].id, tree.switches[node].config.id);
  EXPECT_TRUE(siblings[parent.child].is_switch);
}

TEST(JobShape, IsThatOfEachSwitchAlone) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Prng random(seed);
    const Topology tree = random_tree(random);
    const TopologyIndex index(tree);
    const JobShape shape(index, tree.jobs[0]);
    const Reference expected(tree);
    ASSERT_EQ(shape.top(), expected.top());
    for (std::size_t node = 0; node < tree.switches.size(); ++node) {
      EXPECT_EQ(shape.ranks_at(node), expected.ranks_at(node));
      EXPECT_EQ(shape.deadline_below(node), expected.deadline_below(node));
      EXPECT_EQ(shape.deadline_at(node), expected.deadline_at(node));
      if (!shape.takes_part(node)) continue;
      const JobConfig config = shape.config_at(node);
      EXPECT_EQ(config.children, expected.children_of(node));
      EXPECT_EQ(config.deadline, expected.deadline_at(node));
      EXPECT_EQ(config.tree_digest, shape.digest());
      EXPECT_EQ(config.parent.has_value(), node != expected.top());
      if (config.parent) expect_parent(expected, tree, node, *config.parent);
      if (config.order == wire::Order::reproducible) {
        EXPECT_EQ(format_bracket(*config.bracketing),
                  format_bracket(expected.expression_at(expected.top())));
      }
    }
  }
}

TEST(TopologyIndex, ANameThatComesTwiceIsTheFirst) {
  Topology tree;
  tree.switches.resize(3);
  tree.switches[0].config.name = "A";
  tree.switches[1].config.name = "B";
  tree.switches[1].parent = "A";
  tree.switches[2].config.name = "A";
  tree.switches[2].parent = "none";
  tree.workers = {{"w", "A", "p0", std::nullopt}, {"w", "B", "p0", std::nullopt}};
  const TopologyIndex index(tree);
  EXPECT_EQ(index.switch_at("A"), 0u);
  EXPECT_EQ(index.switch_at("C"), std::nullopt);
  EXPECT_EQ(index.worker_at("w"), 0u);
  EXPECT_EQ(index.parent_of(1), 0u);
  EXPECT_EQ(index.parent_of(2), std::nullopt);
  EXPECT_EQ(index.above(1)->node, 0u);
}

}  // namespace
}  // namespace tributary::config
