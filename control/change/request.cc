#include "control/change/request.h"

#include <algorithm>
#include <exception>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "control/socket/request_fields.h"

namespace tributary::control {
namespace {

using nlohmann::ordered_json;

PlaceHostRequest place_host_request(const ordered_json& request) {
  check_keys(request, {"command", "job", "loads", "candidates"});
  PlaceHostRequest wish;
  wish.job = needed(request, "job");
  if (const auto loads = request.find("loads"); loads != request.end()) {
    if (!loads->is_object()) throw std::invalid_argument("\"loads\" must be an object, by host");
    for (const auto& [host, load] : loads->items()) wish.loads[host] = number_in(load, host);
  }
  if (const auto list = request.find("candidates"); list != request.end()) {
    const auto is_text = [](const ordered_json& name) { return name.is_string(); };
    if (!list->is_array() || !std::all_of(list->begin(), list->end(), is_text))
      throw std::invalid_argument("\"candidates\" must be a list of hosts");
    wish.candidates = list->get<std::vector<std::string>>();
  }
  return wish;
}

SetRequest set_request(const ordered_json& request) {
  check_keys(request, {"command", "values", "remove", "unset_all", "dry_run"});
  SetRequest wish;
  if (const auto dry = request.find("dry_run"); dry != request.end()) {
    if (!dry->is_boolean()) throw std::invalid_argument("\"dry_run\" must be true or false");
    wish.dry_run = dry->get<bool>();
  }
  if (const auto all = request.find("unset_all"); all != request.end()) {
    if (*all != true || request.contains("values") || request.contains("remove"))
      throw std::invalid_argument("\"unset_all\" must be true, without \"values\" or \"remove\"");
    wish.unset_all = true;
    return wish;
  }
  if (const auto remove = request.find("remove"); remove != request.end()) {
    const auto is_text = [](const ordered_json& path) { return path.is_string(); };
    if (!remove->is_array() || !std::all_of(remove->begin(), remove->end(), is_text))
      throw std::invalid_argument("\"remove\" must be a list of paths");
    wish.remove = remove->get<std::vector<std::string>>();
  }
  const ordered_json values = request.value("values", ordered_json::object());
  const std::size_t count = values.size() + wish.remove.size();
  if (!values.is_object() || count == 0 || count > kMostSetKeys)
    throw std::invalid_argument("\"values\" must be an object of 1 to " +
                                std::to_string(kMostSetKeys) + " paths and their values");
  for (const auto& [path, value] : values.items()) {
    if (!value.is_string() && !value.is_null())
      throw std::invalid_argument("the value of '" + path + "' must be a string, or null");
    wish.values.emplace_back(
        path, value.is_null() ? std::nullopt : std::optional(value.get<std::string>()));
  }
  return wish;
}

AssignRequest assign_request(const ordered_json& request) {
  AssignRequest wish;
  if (request.contains("forget_term")) {
    check_keys(request, {"command", "forget_term"});
    if (request["forget_term"] != true) throw std::invalid_argument("\"forget_term\" must be true");
    wish.forget_term = true;
    return wish;
  }
  check_keys(request, {"command", "file", "dry_run"});
  wish.file = text_of(request, "file");
  if (const auto dry = request.find("dry_run"); dry != request.end()) {
    if (!dry->is_boolean()) throw std::invalid_argument("\"dry_run\" must be true or false");
    wish.dry_run = dry->get<bool>();
  }
  return wish;
}

DrainRequest drain_request(const ordered_json& request) {
  check_keys(request, {"command", "jobs", "undo"});
  DrainRequest wish;
  if (const auto jobs = request.find("jobs"); jobs != request.end()) {
    if (!jobs->is_array()) throw std::invalid_argument("\"jobs\" must be a list of ids");
    for (const ordered_json& id : *jobs) wish.jobs.push_back(number_in(id, "jobs"));
  }
  if (const auto undo = request.find("undo"); undo != request.end()) {
    if (!undo->is_boolean()) throw std::invalid_argument("\"undo\" must be true or false");
    wish.undo = undo->get<bool>();
  }
  return wish;
}

ordered_json answer(std::string_view line, const Commands& commands) {
  const auto& [show, exclude, reload, place_host, set, assign, drain] = commands;
  const ordered_json request = ordered_json::parse(line, nullptr, false);
  if (request.is_discarded() || !request.is_object())
    throw std::invalid_argument("the request is not a JSON object on one line");
  const std::string command = text_of(request, "command");
  if (show && command == "show") {
    check_keys(request, {"command", "what"});
    ShowAnswer shown = show(text_of(request, "what"));
    ordered_json reply = {{"ok", true}, {"data", std::move(shown.data)}};
    if (!shown.notes.empty()) reply["notes"] = shown.notes;
    return reply;
  }
  if (exclude && (command == "exclude" || command == "reinstate")) {
    check_keys(request, {"command", "job", "rank", "from"});
    const std::uint32_t from = exclude({needed(request, "job"), needed(request, "rank"),
                                        command == "exclude", number_of(request, "from")});
    return {{"ok", true}, {"data", {{"from", from}}}};
  }
  if (place_host && (command == "place-host" || command == "elect"))
    return {{"ok", true}, {"data", place_host(place_host_request(request))}};
  if (reload && command == "reload") {
    check_keys(request, {"command"});
    return {{"ok", true}, {"data", reload()}};
  }
  if (set && command == "set") return {{"ok", true}, {"data", set(set_request(request))}};
  if (assign && command == "assign")
    return {{"ok", true}, {"data", assign(assign_request(request))}};
  if (drain && command == "drain")
    return {{"ok", true}, {"data", {{"jobs", drain(drain_request(request))}}}};
  const std::string allowed =
      std::string(show ? ", show" : "") + (exclude ? ", exclude, reinstate" : "") +
      (place_host ? ", place-host" : "") + (reload ? ", reload" : "") + (set ? ", set" : "") +
      (assign ? ", assign" : "") + (drain ? ", drain" : "");
  throw std::invalid_argument("no command is called '" + command +
                              "'; allowed: " + allowed.substr(allowed.empty() ? 0 : 2));
}

}  // namespace

bool takes_long(std::string_view line) {
  const ordered_json request = ordered_json::parse(line, nullptr, false);
  if (!request.is_object()) return false;
  const auto command = request.find("command");
  return command != request.end() &&
         (*command == "reload" || *command == "set" || *command == "assign" || *command == "drain");
}

std::string answer_request(std::string_view line, const Commands& commands) {
  ordered_json reply;
  try {
    reply = answer(line, commands);
  } catch (const std::exception& error) {
    reply = {{"ok", false}, {"error", error.what()}};
  }
  // An error may quote what came in, which need not be UTF-8.
  return reply.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace tributary::control
