#include "control/change/running_config.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace tributary::control {

using nlohmann::ordered_json;

namespace {

// Throws unless the switch has taken the whole change.
void check_whole(const config::Change& change, const std::string& text) {
  if (change.late.empty() && change.ports.down.empty() && change.ports.as_before.empty()) return;
  std::string lacks = change.late;
  if (lacks.empty())
    lacks = "not all of it, and a reload tries that again:";
  else if (!change.ports.down.empty())
    lacks += "; what was to be opened again stays closed until the next reload:";
  for (const std::string& why : change.ports.down) lacks += "\nstays closed: " + why;
  for (const std::string& why : change.ports.as_before) lacks += "\nstays as before: " + why;
  throw TakenButNotWhole(text + "; but " + lacks);
}

// The second key of a request must not undo the first.
void check_both(const config::Place& one, const config::Place& other) {
  if (one.path != other.path) return;
  if (one.element == other.element) throw std::invalid_argument(one.path + ": is given twice");
  if (!one.element || !other.element)
    throw std::invalid_argument(one.path +
                                ": is given as a whole and by an element; allowed: one "
                                "of both");
}

}  // namespace

RunningConfig::RunningConfig(config::Document document, Shell shell,
                             std::optional<config::Assigned> assigned,
                             std::optional<config::Version> latest)
    : file_(std::move(document)),
      assigned_(std::move(assigned)),
      latest_(latest.value_or(assigned_ ? assigned_->version : config::Version{})),
      shell_(std::move(shell)) {}

config::SwitchConfig RunningConfig::whole(const config::Document& document) const {
  config::SwitchConfig local = config::switch_config(document);
  return assigned_ ? config::merged(std::move(local), *assigned_) : local;
}

std::unique_lock<std::mutex> RunningConfig::take_turn() {
  std::unique_lock lock(changing_, std::try_to_lock);
  if (!lock)
    throw std::runtime_error("busy: another change of the configuration is under way; try again");
  return lock;
}

std::string RunningConfig::reload() {
  const auto turn = take_turn();
  return read_anew();
}

std::string RunningConfig::reload_patiently() {
  const std::lock_guard turn(changing_);
  return read_anew();
}

std::string RunningConfig::read_anew() {
  config::Document next = config::parse_document(shell_.read(), file_.file, file_.node);
  const config::Change change = shell_.apply(whole(next));
  std::string text = config::describe(change);
  {
    const std::lock_guard write(written_);
    file_ = std::move(next);
    const char* before = "; dropped what was set: ";
    for (const Override& dropped : overrides_) {
      text.append(std::exchange(before, ", ")).append(dropped.place.path);
      text.append(" (").append(config::text_of(dropped.value)).append(")");
    }
    overrides_.clear();
  }
  check_whole(change, text);
  return text;
}

config::Document RunningConfig::overridden(const Overrides& overrides) const {
  config::Document document = file_;
  for (const Override& one : overrides) config::put_value(document, one.place, one.value);
  return document;
}

std::string RunningConfig::text_in(const config::Document& document,
                                   const config::Place& place) const {
  const config::Node* const value = config::value_at(document, place);
  return value != nullptr ? config::text_of(*value) : place.fallback + " (default)";
}

void RunningConfig::override_key(const config::Place& place,
                                 const std::optional<std::string>& value,
                                 Overrides& overrides) const {
  const auto is_it = [&](const Override& one) { return one.place.path == place.path; };
  if (!value && place.element)
    throw std::invalid_argument(
        place.path + "[" + std::to_string(*place.element) +
        "]: what the file says comes back with the whole list: " + place.path);
  if (!value && std::erase_if(overrides, is_it) == 0)
    throw std::invalid_argument(place.path + ": was not set; `show overrides` lists what was");
  if (!value) return;
  config::Node node = config::parse_value(place.path, *value);
  if (place.element) node = config::with_element(overridden(overrides), place, std::move(node));
  std::erase_if(overrides, is_it);
  const config::Node* const in_file = config::value_at(file_, place);
  if (in_file != nullptr && config::text_of(*in_file) == config::text_of(node)) return;
  if (overrides.size() == kMostOverrides)
    throw std::invalid_argument(place.path + ": " + std::to_string(kMostOverrides) +
                                " keys are set already, which is all there may be; write them to "
                                "the file, and reload");
  overrides.push_back({place, std::move(node)});
}

ordered_json RunningConfig::set(const SetRequest& request) {
  const auto turn = take_turn();
  Overrides next = overrides_;
  std::vector<config::Place> places;
  for (const auto& [path, value] : request.values) {
    if (assigned_ && config::is_assigned_key(path))
      throw std::invalid_argument(path + ": is assigned by the manager, revision " +
                                  std::to_string(assigned_->version.revision) +
                                  "; allowed: keys of the switch's own file");
    places.push_back(config::find_place(file_, path));
    for (std::size_t i = 0; i + 1 < places.size(); ++i) check_both(places[i], places.back());
    override_key(places.back(), value, next);
  }
  const config::Document before = overridden(overrides_);
  const config::Document after = overridden(next);
  const config::SwitchConfig config = whole(after);
  const config::Change change = request.dry_run ? shell_.compare(config) : shell_.apply(config);
  if (!request.dry_run) {
    const std::lock_guard write(written_);
    overrides_ = std::move(next);
  }
  check_whole(change, config::describe(change));
  ordered_json keys = ordered_json::array();
  for (auto place = places.begin(); place != places.end(); ++place) {
    const auto same = [&](const config::Place& other) { return other.path == place->path; };
    if (std::any_of(places.begin(), place, same)) continue;  // another element of that list
    keys.push_back(
        {{"path", place->path}, {"from", text_in(before, *place)}, {"to", text_in(after, *place)}});
  }
  return {{"keys", std::move(keys)},
          {"change", config::describe(change)},
          {"dry_run", request.dry_run}};
}

namespace {

void check_newer(const config::Version& next, const config::Version& latest, bool in_force) {
  if (next > latest) return;
  const auto text = [](const config::Version& v) {
    return "term " + std::to_string(v.term) + ", revision " + std::to_string(v.revision);
  };
  throw std::invalid_argument("the document has " + text(next) + ", and " + text(latest) +
                              (in_force ? " is in force" : " was the latest") +
                              "; allowed: a later one, or `tributary forget-term` before it");
}

// The client names a file that it may not be able to read itself: nothing of a file that does not
// look like a document goes into an error.
config::Assigned parse_named(const AssignRequest& request) {
  try {
    return config::parse_assigned(request.text, request.file);
  } catch (const config::ConfigErrors&) {
    if (config::looks_assigned(request.text)) throw;
  }
  throw std::invalid_argument(request.file +
                              ": is no assigned document; allowed: YAML with term, revision, node "
                              "and topology");
}

}  // namespace

// Returns why a restart would not know it; empty: it would.
std::string RunningConfig::keep_assigned() {
  std::string why;
  try {
    if (shell_.keep_term) shell_.keep_term(assigned_->version.term);
    if (shell_.keep) shell_.keep(assigned_->text);
  } catch (const std::exception& error) {
    why = std::string("a restart would not know it: ") + error.what();
  }
  const std::lock_guard write(written_);
  kept_ = why.empty();
  return why;
}

ordered_json RunningConfig::forget_term() {
  if (shell_.keep_term) shell_.keep_term(0);
  latest_ = {};
  return {{"version", {{"term", 0}, {"revision", 0}}}, {"change", ""}};
}

ordered_json RunningConfig::assign(const AssignRequest& request) {
  const auto turn = take_turn();
  if (request.forget_term) return forget_term();
  config::Assigned next = parse_named(request);
  const ordered_json version = {{"term", next.version.term}, {"revision", next.version.revision}};
  const bool is_in_force = assigned_ && assigned_->text == next.text;
  if (is_in_force && (kept_ || request.dry_run)) return {{"version", version}, {"change", ""}};
  if (is_in_force) {
    const std::string why = keep_assigned();
    if (!why.empty()) throw TakenButNotWhole("no change; but " + why);
    return {{"version", version}, {"change", ""}};
  }
  check_newer(next.version, latest_, assigned_ && assigned_->version == latest_);
  const config::SwitchConfig config =
      config::merged(config::switch_config(overridden(overrides_)), next);
  const config::Change change = request.dry_run ? shell_.compare(config) : shell_.apply(config);
  std::string text = config::describe(change);
  std::string why;
  if (!request.dry_run) {
    {
      const std::lock_guard write(written_);
      latest_ = next.version;
      assigned_ = std::move(next);
    }
    why = keep_assigned();
  }
  if (!why.empty()) why = text + "; but " + why;
  check_whole(change, why.empty() ? text : why);
  if (!why.empty()) throw TakenButNotWhole(why);
  return {{"version", version}, {"change", text}};
}

ordered_json RunningConfig::assigned() {
  const std::lock_guard read(written_);
  ordered_json rows = ordered_json::array();
  if (!assigned_) return rows;
  std::string jobs;
  for (const auto& job : config::node_config(assigned_->topology, assigned_->node).jobs)
    jobs.append(jobs.empty() ? "" : ", ").append(job.name);
  rows.push_back({{"term", assigned_->version.term},
                  {"revision", assigned_->version.revision},
                  {"node", assigned_->node},
                  {"jobs", jobs},
                  {"kept", kept_}});
  return rows;
}

ordered_json RunningConfig::overrides() {
  const std::lock_guard read(written_);
  ordered_json rows = ordered_json::array();
  for (const Override& one : overrides_)
    rows.push_back({{"path", one.place.path},
                    {"value", config::text_of(one.value)},
                    {"file", text_in(file_, one.place)}});
  return rows;
}

}  // namespace tributary::control
