#include "tools/telemetryd/tree_mover.h"

#include <algorithm>
#include <exception>
#include <utility>

namespace tributary::telemetryd {
namespace {

// Reports a line unless it is the one before.
void report_news(std::string& before, const std::string& line,
                 const std::function<void(const std::string&)>& report) {
  if (std::exchange(before, line) != line && !line.empty()) report(line);
}

using nlohmann::ordered_json;

// The port of the parent in `show tree`; empty: the switch has no job whose sums go up.
std::string uplink_in(const ordered_json& rows) {
  for (const ordered_json& row : rows)
    if (row.is_object() && row.value("is", "") == "parent") return row.value("port", "");
  return "";
}

}  // namespace

TreeMover::TreeMover(const NetworkFile& file, PathWatch& paths, Ask ask, Report report)
    : file_(file),
      paths_(paths),
      ask_(std::move(ask)),
      report_(std::move(report)),
      said_(file.trees.size()),
      refused_(file.trees.size()),
      seen_(file.trees.size()) {}

void TreeMover::report_once(std::size_t tree, const std::string& line) {
  report_news(said_[tree], line, report_);
}

void TreeMover::look() {
  for (Unfinished& one : unfinished_) one.is_due = true;
  for (std::size_t i = 0; i < file_.trees.size(); ++i) {
    const auto is_it = [&](const NetworkNode& node) { return node.name == file_.trees[i].child; };
    const auto node = std::find_if(file_.nodes.begin(), file_.nodes.end(), is_it);
    try {
      const std::string uplink =
          uplink_in(ask_(node->control, {{"command", "show"}, {"what", "tree"}}));
      if (!uplink.empty()) note(i, uplink);
      if (!is_unfinished(i)) report_once(i, "");
    } catch (const std::exception& error) {
      report_once(i, node->name + ": which way up it uses is not known: " + error.what());
    }
  }
}

void TreeMover::note(std::size_t tree, const std::string& uplink) {
  paths_.in_force(tree, uplink);
  if (uplink == seen_[tree] || is_unfinished(tree)) return;
  const PathWatch::TreeMove move{tree, std::exchange(seen_[tree], uplink), uplink};
  const auto& ways = file_.trees[tree].uplinks;
  const auto is_it = [&](const NetworkUplink& way) { return way.name == uplink; };
  if (std::none_of(ways.begin(), ways.end(), is_it)) return;
  auto others = order_of(move);
  std::erase_if(others, [&](const auto* node) { return node->name == file_.trees[tree].child; });
  unfinished_.push_back({move, others, true});
}

bool TreeMover::is_unfinished(std::size_t tree) const {
  return std::any_of(unfinished_.begin(), unfinished_.end(),
                     [tree](const Unfinished& one) { return one.move.tree == tree; });
}

void TreeMover::forget(std::size_t tree) {
  std::erase_if(unfinished_, [tree](const Unfinished& one) { return one.move.tree == tree; });
  seen_[tree].clear();
}

std::string TreeMover::left_by(const PathWatch::TreeMove& move) const {
  const NetworkTree& tree = file_.trees[move.tree];
  for (const NetworkUplink& uplink : tree.uplinks) {
    if (uplink.name != move.from) continue;
    for (const NetworkLink& link : file_.links) {
      if (link.from == tree.child && link.port == uplink.port) return link.to;
      if (link.to == tree.child && link.port_there == uplink.port) return link.from;
    }
  }
  return "";
}

std::vector<const NetworkNode*> TreeMover::order_of(const PathWatch::TreeMove& move) const {
  const NetworkTree& tree = file_.trees[move.tree];
  const std::string left = left_by(move);
  const auto turn_of = [&](const NetworkNode& node) {
    if (node.name == tree.child) return 1;
    if (node.name == tree.to) return 2;
    return node.name == left ? 3 : 0;
  };
  std::vector<const NetworkNode*> nodes;
  for (const NetworkNode& node : file_.nodes)
    if (!node.control.empty()) nodes.push_back(&node);
  std::stable_sort(nodes.begin(), nodes.end(), [&](const NetworkNode* a, const NetworkNode* b) {
    return turn_of(*a) < turn_of(*b);
  });
  return nodes;
}

void TreeMover::tell(const NetworkNode& node, const PathWatch::TreeMove& move, bool dry_run) {
  const std::string key = "switches." + file_.trees[move.tree].child + ".active_uplink";
  try {
    ask_(node.control, {{"command", "set"}, {"values", {{key, move.to}}}, {"dry_run", dry_run}});
  } catch (const std::exception& error) {
    throw std::runtime_error(node.name + ": " + error.what());
  }
}

std::string TreeMover::text_of(const PathWatch::TreeMove& move) const {
  return file_.trees[move.tree].child + " to uplink " + move.to;
}

bool TreeMover::carry_out(const PathWatch::TreeMove& move) {
  const auto nodes = order_of(move);
  bool begun = false;
  std::size_t told = 0;
  try {
    const std::string left = left_by(move);  // the last, which may be dead
    for (const NetworkNode* node : nodes)
      if (node->name != left) tell(*node, move, true);
    begun = true;
    for (; told == 0 || nodes[told - 1]->name != file_.trees[move.tree].child; ++told)
      tell(*nodes[told], move, false);
  } catch (const std::exception& error) {
    report_news(refused_[move.tree], text_of(move) + ": not moved, " + error.what(), report_);
    // Some may know the new way, and the switch itself may use it after all.
    if (begun) forget(move.tree);
    return false;
  }
  refused_[move.tree].clear();
  forget(move.tree);
  seen_[move.tree] = move.to;
  unfinished_.push_back({move, {nodes.begin() + static_cast<std::ptrdiff_t>(told), nodes.end()}});
  finish();
  return true;
}

std::string TreeMover::tell_left(Unfinished& one) {
  std::string trouble;
  for (auto node = one.left.begin(); node != one.left.end() && (trouble.empty() || one.again);) {
    try {
      tell(**node, one.move, false);
      node = one.left.erase(node);
    } catch (const std::exception& error) {
      if (trouble.empty()) trouble = error.what();
      ++node;
    }
  }
  one.is_due = !one.again;
  return trouble;
}

bool TreeMover::finish() {
  for (Unfinished& one : unfinished_) {
    if (!one.is_due) continue;
    const std::string trouble = tell_left(one);
    report_once(one.move.tree, trouble.empty()
                                   ? ""
                                   : text_of(one.move) + ": not known everywhere yet, " + trouble);
    if (!trouble.empty() || one.again) continue;
    report_(text_of(one.move) + ": moved from " + one.move.from);
    paths_.in_force(one.move.tree, one.move.to);
  }
  std::erase_if(unfinished_, [](const Unfinished& one) { return one.left.empty(); });
  return unfinished_.empty();
}

ManagedTrees::ManagedTrees(const NetworkFile& file, PathWatch& paths, Call call, Report report)
    : file_(file),
      paths_(paths),
      call_(std::move(call)),
      report_(std::move(report)),
      refused_(file.trees.size()) {}

void ManagedTrees::look() {
  try {
    const ordered_json topology = call_("Cluster.Topology", ordered_json::object());
    const ordered_json move = topology.value("move", ordered_json::object());
    const std::string moving = move.is_object() ? move.value("name", "") : "";
    for (std::size_t i = 0; i < file_.trees.size(); ++i)
      for (const ordered_json& sw : topology.value("switches", ordered_json::array()))
        if (sw.value("name", "") == file_.trees[i].child && file_.trees[i].child != moving)
          paths_.in_force(i, sw.value("uplink", ""));
    said_.clear();
  } catch (const std::exception& error) {
    report_news(said_, std::string("which ways up are used is not known: manager: ") + error.what(),
                report_);
  }
}

void ManagedTrees::carry_out(const PathWatch::TreeMove& move) {
  const std::string& child = file_.trees[move.tree].child;
  const std::string text = child + " to uplink " + move.to;
  try {
    const ordered_json told = call_("Cluster.Move", {{"name", child}, {"uplink", move.to}});
    refused_[move.tree].clear();
    const std::string waits = told.value("waits_for", "");
    report_(waits.empty() ? text + ": moved from " + move.from
                          : text + ": the manager moves it, and waits for " + waits);
  } catch (const std::exception& error) {
    report_news(refused_[move.tree], text + ": not moved, manager: " + error.what(), report_);
  }
}

}  // namespace tributary::telemetryd
