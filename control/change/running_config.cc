#include "control/change/running_config.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace tributary::control {

using nlohmann::ordered_json;

namespace {

// Throws unless the switch has taken the whole change.
void check_whole(const config::Change& change, const std::string& text) {
  if (change.late.empty() && change.ports.down.empty()) return;
  std::string lacks = change.late;
  if (lacks.empty())
    lacks = "not all of it, and a reload tries that again:";
  else if (!change.ports.down.empty())
    lacks += "; what was to be opened again stays closed until the next reload:";
  for (const std::string& why : change.ports.down) lacks += "\nstays closed: " + why;
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
                             std::optional<config::Assigned> assigned)
    : file_(std::move(document)), assigned_(std::move(assigned)), shell_(std::move(shell)) {}

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

void check_newer(const config::Assigned& next, const std::optional<config::Assigned>& now) {
  if (!now || next.version > now->version) return;
  const auto text = [](const config::Version& v) {
    return "term " + std::to_string(v.term) + ", revision " + std::to_string(v.revision);
  };
  throw std::invalid_argument("the document has " + text(next.version) + ", and " +
                              text(now->version) + " is in force; allowed: a later one");
}

}  // namespace

ordered_json RunningConfig::assign(const AssignRequest& request) {
  const auto turn = take_turn();
  config::Assigned next = config::parse_assigned(request.text, request.file);
  const ordered_json version = {{"term", next.version.term}, {"revision", next.version.revision}};
  if (assigned_ && assigned_->text == next.text) return {{"version", version}, {"change", ""}};
  check_newer(next, assigned_);
  const config::SwitchConfig config =
      config::merged(config::switch_config(overridden(overrides_)), next);
  const config::Change change = request.dry_run ? shell_.compare(config) : shell_.apply(config);
  std::string lost;
  if (!request.dry_run) {
    const std::string text = next.text;
    {
      const std::lock_guard write(written_);
      assigned_ = std::move(next);
    }
    try {
      if (shell_.keep) shell_.keep(text);
    } catch (const std::exception& error) {
      lost = error.what();
    }
  }
  check_whole(change, config::describe(change));
  if (!lost.empty())
    throw TakenButNotWhole(config::describe(change) + "; but a restart would not know it: " + lost);
  return {{"version", version}, {"change", config::describe(change)}};
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
                  {"jobs", jobs}});
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
