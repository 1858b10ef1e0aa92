#include "tools/client/manager/topology_text.h"

#include <vector>

namespace tributary::client {
namespace {

std::string text(const Json& row, const char* key) {
  return harmless(row.value(key, ""));
}

// The way up, where there are several.
std::string way_text(const Json& sw) {
  if (sw.value("other_uplinks", Json::array()).empty()) return "";
  return ", up by " + text(sw, "uplink");
}

std::string move_line(const Json& move) {
  return text(move, "name") + " moves from " + text(move, "from") + " to " + text(move, "to") +
         ", and waits for " + text(move, "waits_for") + "\n";
}

std::string switch_line(const Json& sw) {
  std::string line = text(sw, "name") + "  id " + sw["id"].dump() + ", " +
                     (sw["connected"].get<bool>() ? "connected" : "no agent") + ", slots " +
                     sw["slots_used"].dump() + "/" + sw["slots"].dump() + ", bytes " +
                     text(sw, "bytes_used") + "/" + text(sw, "bytes") + way_text(sw);
  if (sw["connected"].get<bool>()) line += ", revision " + text(sw, "revision");
  if (const std::string problem = text(sw, "problem"); !problem.empty()) line += ": " + problem;
  for (const Json& wrong : sw.value("wrong_cables", Json::array()))
    line += "; " + harmless(wrong.get<std::string>());
  return line;
}

std::string worker_line(const Json& worker) {
  std::string line = text(worker, "name") + "  at " + text(worker, "port");
  std::string jobs;
  for (const Json& job : worker["jobs"])
    jobs += (jobs.empty() ? ", runs " : " ") + harmless(job.get<std::string>());
  return line + (worker["drained"].get<bool>() ? ", drained" : "") + jobs;
}

void add_below(const Json& topology, const std::string& name, const std::string& before,
               std::string& out) {
  struct Row {
    std::string line;
    std::string name;  // of a switch; empty: a worker
  };
  std::vector<Row> rows;
  for (const Json& sw : topology["switches"])
    if (text(sw, "parent") == name) rows.push_back({switch_line(sw), text(sw, "name")});
  for (const Json& worker : topology["workers"])
    if (text(worker, "attached_to") == name) rows.push_back({worker_line(worker), ""});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool last = i + 1 == rows.size();
    out += before + (last ? "`- " : "|- ") + rows[i].line + "\n";
    if (!rows[i].name.empty())
      add_below(topology, rows[i].name, before + (last ? "   " : "|  "), out);
  }
}

}  // namespace

std::string topology_text(const Json& topology) {
  std::string out;
  for (const Json& sw : topology["switches"]) {
    if (!text(sw, "parent").empty()) continue;
    out += switch_line(sw) + "\n";
    add_below(topology, text(sw, "name"), "", out);
  }
  if (topology.contains("move") && topology["move"].is_object()) out += move_line(topology["move"]);
  return out;
}

}  // namespace tributary::client
