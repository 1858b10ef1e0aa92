#include "manager/topology/fabric.h"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/breadth_first_search.hpp>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "config/topology/topology_tree.h"

namespace tributary::manager {
namespace {

using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS,
                                    boost::no_property, boost::property<boost::edge_index_t, int>>;
using Problems = std::vector<std::string>;

std::string joined(const Problems& problems) {
  std::string text;
  for (const std::string& problem : problems) text.append(text.empty() ? "" : "\n").append(problem);
  return text;
}

std::string text_of(const LinkEnd& end) {
  return end.node + "." + end.port;
}

class Assembly {
 public:
  explicit Assembly(const Inventory& inventory)
      : inventory_(inventory),
        graph_(inventory.switches.size()),
        parts_(inventory.switches.size()) {
    for (std::size_t i = 0; i < inventory.switches.size(); ++i)
      if (!index_.emplace(inventory.switches[i].name, i).second)
        problems_.push_back("switch " + inventory.switches[i].name + " is reported twice");
    std::iota(parts_.begin(), parts_.end(), std::size_t{0});
    for (const Link& link : inventory.links) add(link);
  }

  config::Topology result() {
    if (inventory_.switches.empty()) problems_.emplace_back("no switch is known yet");
    fail();
    const std::size_t root = choose_root();
    const auto parents = parents_from(root);
    check_one_root(root, parents);
    fail();
    config::Topology topology;
    topology.workers = inventory_.workers;
    for (std::size_t i = 0; i < inventory_.switches.size(); ++i)
      topology.switches.push_back(placed(i, i == root ? nullptr : links_[parents[i].second]));
    return topology;
  }

 private:
  void fail() const {
    if (!problems_.empty()) throw FabricError(problems_);
  }

  bool exists(const LinkEnd& end) {
    const auto at = index_.find(end.node);
    if (at == index_.end()) {
      problems_.push_back("link end " + text_of(end) + ": no switch is called " + end.node);
      return false;
    }
    const auto& ports = inventory_.switches[at->second].ports;
    const bool known = std::any_of(ports.begin(), ports.end(),
                                   [&](const auto& port) { return port.name == end.port; });
    if (!known)
      problems_.push_back("link end " + text_of(end) + ": " + end.node + " has no port " +
                          end.port);
    return known;
  }

  std::size_t find(std::size_t node) {
    while (parts_[node] != node) node = parts_[node] = parts_[parts_[node]];
    return node;
  }

  // Both ends report a neighbour: the second report of a link says nothing new.
  bool is_known(const Link& link) const {
    return std::any_of(links_.begin(), links_.end(), [&](const Link* other) {
      return (other->a == link.a && other->b == link.b) ||
             (other->a == link.b && other->b == link.a);
    });
  }

  void add(const Link& link) {
    const bool both = exists(link.a);
    if (!exists(link.b) || !both || is_known(link)) return;
    for (const LinkEnd& end : {link.a, link.b})
      if (!used_.insert({end.node, end.port}).second)
        problems_.push_back("port " + text_of(end) + " has two links; allowed: one");
    const std::size_t a = index_[link.a.node];
    const std::size_t b = index_[link.b.node];
    if (find(a) == find(b)) {
      problems_.push_back("the link " + text_of(link.a) + " - " + text_of(link.b) +
                          " closes a cycle: " + way(a, b) + "; allowed: a tree");
      return;
    }
    parts_[find(a)] = find(b);
    boost::add_edge(a, b, static_cast<int>(links_.size()), graph_);
    links_.push_back(&link);
  }

  // Parent and link of each switch in the tree that hangs from `root`; the root is its own.
  using Parents = std::vector<std::pair<std::size_t, std::size_t>>;
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  Parents parents_from(std::size_t root) const {
    Parents parents(boost::num_vertices(graph_), {kNone, kNone});
    parents[root] = {root, kNone};
    struct Visitor : boost::default_bfs_visitor {
      explicit Visitor(Parents& to) : parents(&to) {}
      void tree_edge(const Graph::edge_descriptor& e, const Graph& g) const {
        (*parents)[boost::target(e, g)] = {
            boost::source(e, g), static_cast<std::size_t>(boost::get(boost::edge_index_t(), g, e))};
      }
      Parents* parents;
    };
    boost::breadth_first_search(graph_, root, boost::visitor(Visitor(parents)));
    return parents;
  }

  // "A -> B -> C -> A": the cycle that a link between a and b would close.
  std::string way(std::size_t a, std::size_t b) const {
    const Parents parents = parents_from(a);
    std::string text = inventory_.switches[a].name;
    for (std::size_t at = b; at != a; at = parents[at].first)
      text.append(" -> ").append(inventory_.switches[at].name);
    return text + " -> " + inventory_.switches[a].name;
  }

  std::size_t height(std::size_t root) const {
    const Parents parents = parents_from(root);
    std::size_t most = 0;
    for (std::size_t node = 0; node < parents.size(); ++node) {
      std::size_t depth = 0;
      for (std::size_t at = node; parents[at].first != kNone && at != root; ++depth)
        at = parents[at].first;
      most = std::max(most, depth);
    }
    return most;
  }

  std::size_t choose_root() {
    if (!inventory_.root.empty()) {
      const auto at = index_.find(inventory_.root);
      if (at != index_.end()) return at->second;
      problems_.push_back("the root is to be " + inventory_.root + ", which no switch is called");
      fail();
    }
    std::size_t best = 0;
    for (std::size_t i = 1; i < inventory_.switches.size(); ++i)
      if (std::pair(height(i), inventory_.switches[i].id) <
          std::pair(height(best), inventory_.switches[best].id))
        best = i;
    return best;
  }

  void check_one_root(std::size_t root, const Parents& parents) {
    for (std::size_t i = 0; i < parents.size(); ++i)
      if (parents[i].first == kNone)
        problems_.push_back("two roots: no link joins " + inventory_.switches[i].name + " to " +
                            inventory_.switches[root].name + "; allowed: one tree");
  }

  config::TopologySwitch placed(std::size_t node, const Link* link) const {
    config::TopologySwitch sw;
    sw.config = inventory_.switches[node];
    sw.config.jobs.clear();
    if (link == nullptr) return sw;
    const bool own_is_a = link->a.node == sw.config.name;
    const LinkEnd& above = own_is_a ? link->b : link->a;
    sw.uplink = own_is_a ? link->a.port : link->b.port;
    sw.uplink_cost = link->cost;
    sw.parent = above.node;
    sw.parent_port = above.port;
    return sw;
  }

  const Inventory& inventory_;
  Graph graph_;
  std::vector<std::size_t> parts_;  // disjoint sets: of the same part are linked
  std::map<std::string, std::size_t> index_;
  std::vector<const Link*> links_;  // of the tree, by edge index
  std::set<std::pair<std::string, std::string>> used_;
  Problems problems_;
};

}  // namespace

FabricError::FabricError(const std::vector<std::string>& problems)
    : std::runtime_error(joined(problems)) {}

config::Topology assemble(const Inventory& inventory) {
  config::Topology topology = Assembly(inventory).result();
  config::ReadContext context("topology");
  config::check_topology(topology, context);
  if (context.errors().empty()) return topology;
  std::vector<std::string> problems;
  for (const config::ConfigError& error : context.errors()) problems.push_back(error.to_string());
  throw FabricError(problems);
}

}  // namespace tributary::manager
