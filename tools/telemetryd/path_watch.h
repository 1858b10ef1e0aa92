// Finds the best paths of the network file again and again, by the record table, and remembers the
// latest decisions.
//
// A switch's link counts with the latency of its egress port, if that was reported within kFresh,
// and with that of the link itself, where it is probed; what is older is unknown. A host adds
// nothing. A link is down while its switch says that it does not answer probes, as it did before:
// one to a neighbour that never answers has no probes.
//
// A tree's way up, and a path that switches are told, is chosen by the probes and the capacity of
// links alone: latency in a switch and free bandwidth move along with the traffic, and would be a
// reason to move back. No switch is told of another way before it is known which one is in use.
#pragma once

#include <atomic>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/time.h"
#include "telemetry/path/path_chooser.h"
#include "telemetry/table/record_table.h"
#include "tools/telemetryd/network_file.h"

namespace tributary::telemetryd {

class PathWatch {
 public:
  static constexpr Duration kFresh = Duration::seconds(10);
  static constexpr Duration kFreshProbe = Duration::seconds(1);
  static constexpr std::size_t kMostDecisions = 200;

  struct Path {
    std::string from;
    std::string to;
    telemetry::PathGoal goal;
    telemetry::PathDecision decision;
    std::uint64_t moves = 0;  // beside the first choice
    std::string uplink = {};  // of a tree: the way up in force; empty: not known
    // Whether switches send the path's destinations along it; nullopt: not known, or it has none.
    std::optional<bool> installed = {};
  };
  // A tree shall use another way up.
  struct TreeMove {
    std::size_t tree = 0;  // of the file
    std::string from;      // names of the ways
    std::string to;
  };
  // Switches shall send a path's destinations along these links.
  struct PathOrder {
    std::size_t path = 0;            // of the file
    std::vector<std::size_t> links;  // as ways_of() counts them
  };
  struct Decision {
    Instant at;
    std::string from;
    std::string to;
    std::string explanation;  // the path, why, and the candidates
    std::optional<TreeMove> move = {};
    std::optional<PathOrder> order = {};
  };

  explicit PathWatch(const NetworkFile& file);

  // One thread: takes the links' figures from the table, then decides by them, without the table.
  // Returns the decisions that changed a path.
  void refresh(const telemetry::RecordTable& table, Instant now);
  std::vector<Decision> decide(Instant now);
  // The same thread, after refresh(): whether a link went up or down, or has another latency or
  // free bandwidth by a fifth, since this was last so.
  bool take_change();
  // Any thread: from now on decide() goes no further than the path that it is at.
  void end() { ending_ = true; }

  // Any thread: the way up that the tree's switch says it uses.
  void in_force(std::size_t tree, const std::string& uplink);
  // Any thread: the links along which switches send the path's destinations; empty: there is no
  // whole path yet. It is the path from now on.
  void follow(std::size_t path, const std::vector<std::size_t>& links);
  // Any thread: whether the path is the one that was chosen.
  void note_installed(std::size_t path, bool installed);

  // Any thread: "main -0-> L -1-> R".
  [[nodiscard]] std::string text_of(const std::vector<std::size_t>& links) const {
    const std::lock_guard lock(mutex_);
    return telemetry::text_of(network_, links);
  }

  // Any thread. Decisions are the latest first.
  [[nodiscard]] std::vector<Path> paths() const;
  [[nodiscard]] std::string paths_json() const;
  [[nodiscard]] std::string decisions_json(Instant now) const;
  // Nodes, and links with what is known of both ways.
  [[nodiscard]] std::string network_json() const;

 private:
  struct Watched {
    Path path;
    telemetry::PathChooser chooser;
    std::optional<std::size_t> tree = {};
    std::vector<std::string> destinations = {};  // that switches are told
    [[nodiscard]] bool is_used() const { return tree || !destinations.empty(); }
    [[nodiscard]] bool is_known() const {
      return tree ? !path.uplink.empty() : destinations.empty() || path.installed;
    }
  };

  void refresh(std::size_t link, const telemetry::LinkRecord& record, Instant now);
  void set_up(std::size_t link, const telemetry::LinkRecord& record, bool is_fresh);
  // nullopt: nothing is to be done about the tree.
  [[nodiscard]] std::optional<TreeMove> move_of(const Watched& watched) const;
  [[nodiscard]] std::optional<PathOrder> order_of(const Watched& watched) const;

  const NetworkFile file_;
  std::atomic<bool> ending_{false};
  // Guard what follows; both are held while it changes, and are taken in this order. Deciding,
  // which may take seconds, holds the first alone, and so holds up no reader.
  std::mutex deciding_;
  mutable std::mutex mutex_;
  telemetry::PathNetwork network_;
  telemetry::PathNetwork probed_;  // the same with the latencies that probes say
  std::vector<bool> answered_;     // by link: a probe, at some time
  // Links of both as take_change() last said that they changed.
  std::vector<telemetry::PathLink> noted_;
  std::vector<Watched> paths_;
  std::deque<Decision> decisions_;
};

}  // namespace tributary::telemetryd
