// Tells switches which way up a tree uses, through their control sockets, as `tributary set` does:
// all switches of the network file that have one, since all have to know the tree.
//
//   ask each whether it would ─▶ those beside the ways ─▶ the switch itself ─▶ the one above that
//   sums ─▶ the one that it leaves
//
// So the new way is open before it is used, and the old one until it is not; at the switch's own
// end one is open at a time. Jobs are drained (docs/protocol/drains.md): no op fails. Until the
// switch itself has moved, a refusal leaves the tree as it is; from then on, a switch that fails is
// told again and again, since the job waits for it.
//
// What the switch itself says it uses is what counts: where that is news, as after an answer that
// came too late or a start of the server in the middle of a move, the others are told of it.
// One thread.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/telemetryd/path_watch.h"

namespace tributary::telemetryd {

class TreeMover {
 public:
  // Sends a request to a control socket; returns the reply's data, and throws std::runtime_error.
  using Ask = std::function<nlohmann::ordered_json(const std::string& socket,
                                                   const nlohmann::ordered_json& request)>;
  using Report = std::function<void(const std::string& line)>;

  TreeMover(const NetworkFile& file, PathWatch& paths, Ask ask, Report report);

  // Asks switches which way up they use; finish() tells the others what is news.
  void look();
  // Returns whether the tree has moved; finish() may have to tell further switches.
  bool carry_out(const PathWatch::TreeMove& move);
  // Returns whether all know of all moves.
  bool finish();

 private:
  struct Unfinished {
    PathWatch::TreeMove move;
    std::vector<const NetworkNode*> left;  // to be told, in their order
    bool again = false;                    // the tree did not move: others hear what is in use
    bool is_due = true;
  };

  [[nodiscard]] std::string text_of(const PathWatch::TreeMove& move) const;
  void tell(const NetworkNode& node, const PathWatch::TreeMove& move, bool dry_run);
  // The nodes with a control socket, in the order in which they are told.
  [[nodiscard]] std::vector<const NetworkNode*> order_of(const PathWatch::TreeMove& move) const;
  [[nodiscard]] std::string left_by(const PathWatch::TreeMove& move) const;
  void report_once(std::size_t tree, const std::string& line);
  void note(std::size_t tree, const std::string& uplink);
  // Returns what the first said that failed. The job waits for a move's, in their order; others are
  // all told, and those that fail again after the next look().
  std::string tell_left(Unfinished& one);
  [[nodiscard]] bool is_unfinished(std::size_t tree) const;
  // The next look() has the others told of what is in use.
  void forget(std::size_t tree);

  const NetworkFile file_;
  PathWatch& paths_;
  Ask ask_;
  Report report_;
  std::vector<std::string> said_;     // by tree: the latest trouble
  std::vector<std::string> refused_;  // by tree: the latest move that was refused, and why
  std::vector<std::string> seen_;     // by tree: the way up that others know, or will; empty: none
  std::vector<Unfinished> unfinished_;
};

// Has a manager move trees, where one assigns the jobs: the manager tells the switches, in their
// order. What it says a switch uses is what counts. One thread.
class ManagedTrees {
 public:
  // Calls a method of manager.proto, "Cluster.Move"; throws what std::exception is the base of.
  using Call = std::function<nlohmann::ordered_json(const std::string& method,
                                                    const nlohmann::ordered_json& request)>;
  using Report = std::function<void(const std::string& line)>;

  ManagedTrees(const NetworkFile& file, PathWatch& paths, Call call, Report report);

  // Asks the manager which way up each switch uses.
  void look();
  void carry_out(const PathWatch::TreeMove& move);

 private:
  const NetworkFile file_;
  PathWatch& paths_;
  Call call_;
  Report report_;
  std::string said_;                  // why the ways in use are not known
  std::vector<std::string> refused_;  // by tree: the latest move that was refused, and why
};

}  // namespace tributary::telemetryd
