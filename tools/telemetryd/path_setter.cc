#include "tools/telemetryd/path_setter.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "config/schema/schema_forwarding.h"

namespace tributary::telemetryd {

PathSetter::PathSetter(const NetworkFile& file, PathWatch& paths, Ask ask, Report report)
    : file_(file),
      ways_(ways_of(file)),
      paths_(paths),
      ask_(std::move(ask)),
      report_(std::move(report)),
      pins_(file),
      wanted_(file.paths.size()),
      said_(file.paths.size()) {}

void PathSetter::report_once(std::size_t path, const std::string& line) {
  if (said_[path] == line) return;
  said_[path] = line;
  if (!line.empty()) report_(line);
}

std::string PathSetter::text_of(std::size_t path) const {
  std::string text;
  for (const config::PathDestination& one : to(path))
    text += (text.empty() ? "" : ", ") + config::text_of(one);
  return text + " by " + paths_.text_of(wanted_[path]->links);
}

void PathSetter::read_all() {
  for (std::size_t node = 0; node < file_.nodes.size(); ++node) {
    if (file_.nodes[node].id == 0) continue;
    try {
      pins_.take(node, ask_(file_.nodes[node].control,
                            {{"command", "show"}, {"what", "telemetry ports"}}));
    } catch (const std::exception&) {
      pins_.forget(node);  // who needs it says so
    }
  }
}

std::vector<std::size_t> PathSetter::switches_of(const std::vector<std::size_t>& links) const {
  std::vector<std::size_t> nodes;
  for (const std::size_t link : links)
    if (file_.nodes[ways_[link].from].id != 0) nodes.push_back(ways_[link].from);
  return nodes;
}

void PathSetter::tell(std::size_t node, const std::vector<PinChange>& changes, bool dry_run) {
  const auto values = pins_.values(node, changes);
  if (values.empty()) return;
  try {
    ask_(file_.nodes[node].control, {{"command", "set"}, {"values", values}, {"dry_run", dry_run}});
  } catch (const std::exception& error) {
    throw std::runtime_error(file_.nodes[node].name + ": " + error.what());
  }
  if (!dry_run) pins_.take(node, changes);
}

// They only have to know for the loops that they look for.
void PathSetter::tell_others(const std::vector<std::size_t>& but,
                             const std::vector<PinChange>& changes) {
  for (std::size_t node = 0; node < file_.nodes.size(); ++node) {
    if (!pins_.is_known(node) || std::find(but.begin(), but.end(), node) != but.end()) continue;
    try {
      tell(node, changes, false);
    } catch (const std::exception&) {
      continue;  // it hears of the path again before it is told to be on one
    }
  }
}

void PathSetter::install(std::size_t path, bool& begun) {
  const auto& links = wanted_[path]->links;
  const auto changes = pins_.pinning(links, to(path));
  if (changes.empty()) return;
  const std::string cycle = pins_.cycle(changes, to(path));
  if (!cycle.empty()) throw std::runtime_error("old and new path together are a cycle: " + cycle);
  const auto whole = pins_.whole(changes, to(path));
  std::vector<std::size_t> nodes = switches_of(links);
  std::reverse(nodes.begin(), nodes.end());
  for (const std::size_t node : nodes) tell(node, whole, true);
  begun = true;
  tell_others(nodes, whole);
  for (const std::size_t node : nodes) tell(node, whole, false);
  report_(text_of(path) + ": set");
}

void PathSetter::take_back(std::size_t path) {
  const auto changes = pins_.elsewhere(wanted_[path]->links, to(path));
  if (changes.empty()) return;
  std::vector<std::size_t> nodes = switches_of(wanted_[path]->before);
  const auto has_change = [&](std::size_t node) {
    return std::any_of(changes.begin(), changes.end(),
                       [node](const PinChange& change) { return change.node == node; });
  };
  std::erase_if(nodes, [&](std::size_t node) { return !has_change(node); });
  for (const PinChange& change : changes)
    if (std::find(nodes.begin(), nodes.end(), change.node) == nodes.end())
      nodes.push_back(change.node);
  const auto whole = pins_.whole(changes, to(path));
  for (const std::size_t node : nodes) tell(node, whole, false);
  tell_others(nodes, whole);
}

void PathSetter::adopt(std::size_t path) {
  const NetworkPath& of = file_.paths[path];
  const std::size_t from = index_of(file_, of.from);
  const std::size_t first = pins_.first_switch(from);
  if (!pins_.is_known(first))
    return report_once(path, file_.nodes[first].name + ": does not say its paths; nothing is set");
  const auto links = pins_.chain(from, index_of(file_, of.to), of.destinations);
  paths_.follow(path, links);
  if (!links.empty()) wanted_[path] = Wanted{links, {}, false};
}

void PathSetter::keep(std::size_t path) {
  bool begun = false;
  try {
    install(path, begun);
    paths_.note_installed(path, true);
    if (!std::exchange(wanted_[path]->is_new, false)) take_back(path);
    report_once(path, "");
  } catch (const std::exception& error) {
    paths_.note_installed(path, false);
    report_once(path, text_of(path) + ": not set everywhere, " + error.what());
  }
}

void PathSetter::look() {
  read_all();
  for (std::size_t path = 0; path < file_.paths.size(); ++path) {
    if (to(path).empty()) continue;
    if (wanted_[path])
      keep(path);
    else
      adopt(path);
  }
}

void PathSetter::carry_out(const PathWatch::PathOrder& order) {
  read_all();
  const auto before = wanted_[order.path];
  wanted_[order.path] = Wanted{order.links, before ? before->links : order.links, true};
  bool begun = false;
  try {
    install(order.path, begun);
    paths_.note_installed(order.path, true);
    report_once(order.path, "");
  } catch (const std::exception& error) {
    paths_.note_installed(order.path, false);
    report_once(order.path, text_of(order.path) + ": not set, " + error.what());
    if (begun || !before) return;
    wanted_[order.path] = before;
    paths_.follow(order.path, before->links);
  }
}

}  // namespace tributary::telemetryd
