#include "control/show/show.h"

#include <array>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>
#include <vector>

#include "config/load/load.h"
#include "config/plan/port_places.h"
#include "control/show/show_completion.h"
#include "control/show/show_fdb.h"
#include "control/show/show_forwarding.h"
#include "control/show/show_holds.h"
#include "control/show/show_jobs.h"
#include "control/show/show_lcores.h"
#include "control/show/show_names.h"
#include "control/show/show_op.h"
#include "control/show/show_ports.h"
#include "control/show/show_rdma.h"
#include "control/show/show_routes.h"
#include "control/show/show_stragglers.h"
#include "control/show/show_telemetry.h"
#include "control/text/late_loops.h"

namespace tributary::control {
namespace {

using nlohmann::ordered_json;

// The owner of a table's state. Counters that any thread may read have none.
constexpr std::size_t kNoLoop = 0;
constexpr std::size_t kFirstLoop = 1;
constexpr std::size_t kEveryLoop = config::kMaxLcores;

// Notes first: if a loop wakes up in between, a note is stale, which does no harm.
template <typename F>
ShowAnswer with_notes(const dataplane::Switch& sw, std::size_t lcores, F rows) {
  std::vector<std::string> notes = late_notes(sw, lcores);
  ShowAnswer shown(rows());
  shown.notes = std::move(notes);
  return shown;
}

ordered_json show_config(const dataplane::Switch& sw) {
  return config::dump(config::without_vacancies(sw.config()));
}

}  // namespace

std::string Show::tables() {
  return "ports, jobs, members, tree, slots, holds [JOB], stragglers [JOB], completion, escalated, "
         "hosts, seats, op JOB/OP, ops JOB, drops, stages [LCORE], lcores, rxq, "
         "handover, fdb [vlan=N] [port=NAME], vlans, acl, groups, lldp, routes, neighbours, qps, "
         "names, fragments, buffers, telemetry [ports], collisions, config, overrides, events "
         "[SECONDS]";
}

ShowAnswer Show::answer(const std::string& what) {
  struct Table {
    const char* name;
    ordered_json (*rows)(const dataplane::Switch& sw);
    std::size_t of;
  };
  static constexpr std::array<Table, 26> kTables = {{
      {"ports", show_ports, kNoLoop},
      {"jobs", show_jobs, kEveryLoop},
      {"members", show_members, kEveryLoop},
      {"tree", show_tree, kEveryLoop},
      {"slots", show_slots, kEveryLoop},
      {"holds", show_holds, kEveryLoop},
      {"completion", show_completion, kEveryLoop},
      {"escalated", show_escalated, kEveryLoop},
      {"hosts", show_hosts, kEveryLoop},
      {"seats", show_seats, kEveryLoop},
      {"drops", show_drops, kNoLoop},
      {"stages", show_stages, kNoLoop},
      {"lcores", show_lcores, kEveryLoop},
      {"rxq", show_rxq, kEveryLoop},
      {"handover", show_handover, kNoLoop},
      {"acl", show_acl, kEveryLoop},
      {"groups", show_groups, kFirstLoop},
      {"lldp", show_lldp, kEveryLoop},
      {"routes", show_routes, kNoLoop},
      {"neighbours", show_neighbours, kEveryLoop},
      {"qps", show_qps, kEveryLoop},
      {"names", show_names, kEveryLoop},
      {"fragments", show_fragments, kNoLoop},
      {"buffers", show_buffers, kNoLoop},
      {"config", show_config, kNoLoop},
      {"vlans", show_vlans, kFirstLoop},
  }};
  const auto held = switch_.hold();
  for (const Table& table : kTables)
    if (what == table.name)
      return with_notes(switch_, table.of, [&] { return table.rows(switch_); });
  return answer_about(what);
}

// Tables of which some part is asked for, or may be.
ShowAnswer Show::answer_about(const std::string& what) {
  struct Table {
    const char* name;
    ordered_json (*rows)(const dataplane::Switch& sw, const std::string& which);
    std::size_t of;
    bool whole;  // may be asked for as such
  };
  static constexpr std::array<Table, 7> kTables = {{
      {"telemetry", show_telemetry, kNoLoop, true},
      {"ops", show_ops, kEveryLoop, false},
      {"holds", show_holds, kEveryLoop, false},
      {"stages", show_stages, kNoLoop, false},
      {"op", show_op, kEveryLoop, false},
      {"fdb", show_fdb, kFirstLoop, true},
      {"stragglers", show_stragglers, kEveryLoop, true},
  }};
  const std::size_t space = what.find(' ');
  const std::string name = what.substr(0, space);
  const std::string which = space == std::string::npos ? "" : what.substr(space + 1);
  for (const Table& table : kTables)
    if (name == table.name && (table.whole || space != std::string::npos))
      return with_notes(switch_, table.of, [&] { return table.rows(switch_, which); });
  throw std::invalid_argument("nothing to show is called '" + what + "'; allowed: " + tables());
}

}  // namespace tributary::control
