#include "control/change/running_config.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "config/topology/open_job.h"

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

// Throws unless the switch has taken the whole change, and a restart will know it.
void finish_change(const config::Change& change, const std::string& text, const std::string& why) {
  const std::string all = why.empty() ? text : text + "; but " + why;
  check_whole(change, all);
  if (!why.empty()) throw TakenButNotWhole(all);
}

bool is_below(const std::string& path, const std::string& element) {
  return path.size() > element.size() && path.starts_with(element) &&
         (path[element.size()] == '.' || path[element.size()] == '[');
}

// Takes out what is said of an element, and of all in it.
void erase_element(config::Overrides& overrides, const std::string& path) {
  std::erase_if(overrides, [&](const config::Override& one) {
    return one.path == path || is_below(one.path, path);
  });
}

// "; still set: a (7), b (removed); set aside: c (7): why"
std::string overrides_text(const config::Overrides& overrides) {
  std::string set;
  std::string aside;
  for (const config::Override& one : overrides) {
    std::string& text = one.aside.empty() ? set : aside;
    text.append(text.empty() ? "" : ", ").append(one.path);
    text.append(" (").append(config::text_of(one)).append(")");
    if (!one.aside.empty()) text.append(": ").append(one.aside);
  }
  return (set.empty() ? "" : "; still set: " + set) +
         (aside.empty() ? "" : "; set aside: " + aside);
}

}  // namespace

RunningConfig::RunningConfig(config::Document document, Shell shell,
                             std::optional<config::Assigned> assigned,
                             std::optional<config::Version> latest, config::Overrides overrides)
    : file_(std::move(document)),
      overrides_(std::move(overrides)),
      assigned_(std::move(assigned)),
      latest_(latest.value_or(assigned_ ? assigned_->version : config::Version{})),
      shell_(std::move(shell)) {}

config::SwitchConfig RunningConfig::whole(const config::Document& document) const {
  if (assigned_) return config::merged(document, *assigned_);
  std::vector<config::JobConfig> open = open_;
  return config::with_open(config::switch_config(document), open);
}

void RunningConfig::forget_open_but(const config::SwitchConfig& running) {
  std::erase_if(open_, [&](const config::JobConfig& job) {
    const config::JobConfig* const there = config::find_job(running, job.id);
    return there == nullptr || !there->open;
  });
}

void RunningConfig::open(const OpenEdit& edit) {
  const auto turn = take_turn();
  if (assigned_) throw std::invalid_argument("a manager assigns the jobs, so ranks open none");
  const config::Document document = config::overridden(file_, overrides_);
  std::vector<config::JobConfig> next = open_;
  edit(whole(document), next);
  if (next == open_) return;
  const config::SwitchConfig config = config::with_open(config::switch_config(document), next);
  const config::Change change = shell_.apply(config);
  open_ = std::move(next);
  check_whole(change, config::describe(change));
}

std::unique_lock<std::mutex> RunningConfig::take_turn() {
  std::unique_lock lock(changing_, std::try_to_lock);
  if (!lock)
    throw std::runtime_error("busy: another change of the configuration is under way; try again");
  return lock;
}

Reloaded RunningConfig::reload() {
  const auto turn = take_turn();
  return read_anew();
}

Reloaded RunningConfig::reload_patiently() {
  const std::lock_guard turn(changing_);
  return read_anew();
}

Reloaded RunningConfig::read_anew() {
  config::Document next = config::parse_document(shell_.read(), file_.file, file_.node);
  config::SwitchConfig config = whole(next);
  config::Overrides overrides = overrides_;
  if (!overrides.empty()) {
    config::settle(
        next, assigned_.has_value(), [&](const config::Document& d) { (void)whole(d); }, overrides);
    config = whole(config::overridden(next, overrides));
  }
  const config::Change change = shell_.apply(config);
  forget_open_but(config);
  const std::string text = config::describe(change) + overrides_text(overrides);
  const auto is_aside = [](const config::Override& one) { return !one.aside.empty(); };
  const bool set_aside = std::any_of(overrides.begin(), overrides.end(), is_aside);
  {
    const std::lock_guard write(written_);
    file_ = std::move(next);
    overrides_ = std::move(overrides);
  }
  check_whole(change, text);
  return {text, set_aside};
}

void RunningConfig::add(config::Override override, config::Overrides& next) const {
  if (config::said_in(file_, override) == config::text_of(override)) return;
  if (next.size() == config::kMostOverrides)
    throw std::invalid_argument(override.path + ": " + std::to_string(config::kMostOverrides) +
                                " keys are set already, which is all there may be; write them to "
                                "the file, and unset them");
  next.push_back(std::move(override));
}

RunningConfig::Edit RunningConfig::set_key(const std::string& path, const std::string& value,
                                           config::Overrides& next) const {
  const config::Document document = config::overridden(file_, next);
  const config::Place place = config::find_place(document, path);
  config::Node node = config::parse_value(place.path, value);
  if (place.element) node = config::with_element(document, place, std::move(node));
  std::erase_if(next, [&](const config::Override& one) { return one.path == place.path; });
  add({.path = place.path, .value = std::move(node)}, next);
  return {.path = place.path, .element = place.element};
}

RunningConfig::Edit RunningConfig::set_element(const std::string& path, const std::string& text,
                                               config::Overrides& next) const {
  const config::Document document = config::overridden(file_, next);
  config::Member member = config::find_member(document, path);
  config::Node element = config::parse_element(member, text);
  member.name = config::child_of(&element, member.key)->text;
  const std::string named = config::path_of(member);
  if (member.at && config::element_at(document, member) != nullptr)
    throw std::invalid_argument(named + ": is there already; set it by that name");
  erase_element(next, named);
  const auto kind = config::Override::Kind::element;
  add({.path = named, .kind = kind, .value = std::move(element), .at = member.at}, next);
  return {.path = named, .kind = kind};
}

RunningConfig::Edit RunningConfig::remove_element(const std::string& path,
                                                  config::Overrides& next) const {
  const config::Document document = config::overridden(file_, next);
  const config::Member member = config::find_member(document, path);
  if (config::element_at(document, member) == nullptr)
    throw std::invalid_argument(path + ": " +
                                (member.at ? "has no name there; only the file removes it"
                                           : "is not there; nothing to remove"));
  const std::string named = config::path_of(member);
  erase_element(next, named);
  config::Override removal{.path = named, .kind = config::Override::Kind::removal};
  if (config::said_in(file_, removal)) add(std::move(removal), next);
  return {.path = named, .kind = config::Override::Kind::removal};
}

namespace {

// The path as overrides have it. Throws std::invalid_argument for what none can be of.
std::string named_as(const std::string& path, const config::Document& document) {
  config::Place place;
  try {
    place = config::find_place(document, path);
  } catch (const std::invalid_argument& error) {
    try {
      return config::path_of(config::find_member(document, path));
    } catch (const std::invalid_argument&) {
      throw error;
    }
  }
  if (place.element)
    throw std::invalid_argument(
        config::item_path(place.path, *place.element) +
        ": what the file says comes back with the whole list: " + place.path);
  return place.path;
}

}  // namespace

RunningConfig::Edit RunningConfig::take_back(const std::string& path,
                                             config::Overrides& next) const {
  const auto find = [&](const std::string& wanted) {
    return std::find_if(next.begin(), next.end(),
                        [&](const config::Override& one) { return one.path == wanted; });
  };
  auto found = find(path);
  if (found == next.end()) found = find(named_as(path, config::overridden(file_, next)));
  if (found == next.end())
    throw std::invalid_argument(path + ": was not set; `show overrides` lists what was");
  const Edit edit{.path = found->path, .kind = found->kind};
  if (edit.kind == config::Override::Kind::value)
    next.erase(found);
  else
    erase_element(next, edit.path);
  return edit;
}

std::vector<RunningConfig::Edit> RunningConfig::edit(const SetRequest& request,
                                                     config::Overrides& next) const {
  std::vector<Edit> edits;
  if (request.unset_all) {
    for (const config::Override& one : next) edits.push_back({.path = one.path, .kind = one.kind});
    next.clear();
    return edits;
  }
  const auto take = [&](const std::string& path, auto&& one) {
    if (assigned_ && config::is_assigned_key(path))
      throw std::invalid_argument(path + ": is assigned by the manager, revision " +
                                  std::to_string(assigned_->version.revision) +
                                  "; allowed: keys of the switch's own file");
    Edit done = one();
    // The second one of a request must not undo the first.
    for (const Edit& other : edits) {
      if (other.path != done.path) continue;
      if (other.element == done.element)
        throw std::invalid_argument(done.path + ": is given twice");
      if (!other.element || !done.element)
        throw std::invalid_argument(done.path +
                                    ": is given as a whole and by an element; allowed: one of "
                                    "both");
    }
    edits.push_back(std::move(done));
  };
  for (const auto& [path, value] : request.values)
    take(path, [&] {
      if (!value) return take_back(path, next);
      if (config::is_element_text(*value)) return set_element(path, *value, next);
      return set_key(path, *value, next);
    });
  for (const std::string& path : request.remove)
    take(path, [&] { return remove_element(path, next); });
  return edits;
}

ordered_json RunningConfig::set(const SetRequest& request) {
  const auto turn = take_turn();
  config::Overrides next = overrides_;
  const std::vector<Edit> edits = edit(request, next);
  const config::Document before = config::overridden(file_, overrides_);
  const config::Document after = config::overridden(file_, next);
  const config::SwitchConfig config = whole(after);
  const config::Change change = request.dry_run ? shell_.compare(config) : shell_.apply(config);
  std::string text = config::describe(change);
  std::string why;
  if (!request.dry_run) {
    forget_open_but(config);
    {
      const std::lock_guard write(written_);
      overrides_ = std::move(next);
    }
    why = keep_overrides();
  }
  finish_change(change, text, why);
  ordered_json keys = ordered_json::array();
  for (auto one = edits.begin(); one != edits.end(); ++one) {
    const auto same = [&](const Edit& other) { return other.path == one->path; };
    if (std::any_of(edits.begin(), one, same)) continue;  // another element of that list
    const config::Override what{.path = one->path, .kind = one->kind};
    keys.push_back({{"path", one->path},
                    {"from", config::text_in(before, what)},
                    {"to", config::text_in(after, what)}});
  }
  return {{"keys", std::move(keys)},
          {"change", std::move(text)},
          {"kept", shell_.keep_overrides != nullptr},
          {"dry_run", request.dry_run}};
}

// Returns why a restart would not know them; empty: it would, or is not to.
std::string RunningConfig::keep_overrides() const try {
  if (shell_.keep_overrides) shell_.keep_overrides(config::dump(overrides_));
  return "";
} catch (const std::exception& error) {
  return std::string("a restart would not know it: ") + error.what();
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
  config::Overrides overrides = overrides_;
  const auto merged = [&](const config::Document& document) {
    return config::merged(document, next);
  };
  config::settle(
      file_, true, [&](const config::Document& d) { (void)merged(d); }, overrides);
  const config::SwitchConfig config = merged(config::overridden(file_, overrides));
  const config::Change change = request.dry_run ? shell_.compare(config) : shell_.apply(config);
  std::string text = config::describe(change);
  std::string why;
  if (!request.dry_run) {
    {
      const std::lock_guard write(written_);
      latest_ = next.version;
      assigned_ = std::move(next);
      overrides_ = std::move(overrides);
    }
    why = keep_assigned();
  }
  finish_change(change, text, why);
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
  for (const config::Override& one : overrides_)
    rows.push_back({{"path", one.path},
                    {"value", config::text_of(one)},
                    {"file", config::text_in(file_, one)},
                    {"state", one.aside.empty() ? "in force" : "set aside: " + one.aside}});
  return rows;
}

}  // namespace tributary::control
