// Where a job would go: the workers it names, or the fewest switches that have enough; and what it
// then needs of each switch. Finds, and changes nothing.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "config/topology/topology.h"
#include "manager/admission/free_workers.h"
#include "manager/admission/switch_amounts.h"
#include "manager/admission/tree_index.h"

namespace tributary::manager {

struct Fit {
  config::TopologyJob placed;
  SwitchAmounts::ByName needs;
  SwitchAmounts::ByName needs_before;  // on the tree that a move leaves
  std::string shortage;                // empty: it fits
  std::set<std::string> nodes;         // that it keeps from others where it does not fit
  std::set<std::string> full;          // of its switches, those without room
  bool held_back = false;              // jobs before it keep its room
  bool too_large = false;              // for a switch of it, were it empty
};

// Where a job may go.
struct Room {
  const SwitchAmounts::ByName& used;
  const std::set<std::string>& held;  // switches that jobs before it keep
  bool despite_refusal = false;       // with what a switch has, were it not for a refusal or a move
};

// The tree that a move leaves.
struct TreeBefore {
  config::Topology topology;
  TreeIndex index;
  std::string text;  // of the move
  SwitchAmounts::ByName used = {};
};

// The needs of a job with these members; `shortage` says why it can never run. `left`: members that
// the topology has no more, as they were.
Fit shape_on(const config::Topology& topology, const TreeIndex& index,
             const config::TopologyJob& job, const std::vector<config::TopologyWorker>& left = {});

class Fitter {
 public:
  // Refers to all of it. `before`: nullptr where no switch moves.
  Fitter(const config::Topology& topology, const TreeIndex& index, const SwitchAmounts& amounts,
         const FreeWorkers& workers, const TreeBefore* before)
      : topology_(topology), index_(index), amounts_(amounts), workers_(workers), before_(before) {}

  // `needs`: of a job that names its members, once they are known.
  [[nodiscard]] Fit fit(const config::TopologyJob& wanted,
                        std::optional<SwitchAmounts::ByName>& needs, const Room& room) const;

 private:
  void fit_before(Fit& fit) const;
  [[nodiscard]] Fit fit_members(const config::TopologyJob& job, const SwitchAmounts::ByName& needs,
                                const Room& room) const;
  [[nodiscard]] Fit fit_anywhere(const config::TopologyJob& job, const Room& room) const;
  [[nodiscard]] std::optional<Fit> fit_best(const config::TopologyJob& job,
                                            const std::vector<Site>& sites, const Room& room) const;
  [[nodiscard]] std::vector<Site> sites_in(const Room& room) const;
  void bring_to_hosts(const std::vector<Site>& sites, std::vector<std::size_t>& workers) const;

  const config::Topology& topology_;
  const TreeIndex& index_;
  const SwitchAmounts& amounts_;
  const FreeWorkers& workers_;
  const TreeBefore* before_;
};

}  // namespace tributary::manager
