#include "control/request.h"

#include <algorithm>
#include <exception>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace tributary::control {
namespace {

using nlohmann::ordered_json;

std::string text_of(const ordered_json& request, const char* key) {
  const auto it = request.find(key);
  if (it == request.end())
    throw std::invalid_argument(std::string("the request lacks \"") + key + "\"");
  if (!it->is_string())
    throw std::invalid_argument(std::string("\"") + key + "\" must be a string");
  return it->get<std::string>();
}

std::optional<std::uint32_t> number_of(const ordered_json& request, const char* key) {
  const auto it = request.find(key);
  if (it == request.end()) return std::nullopt;
  if (!it->is_number_unsigned() || it->get<std::uint64_t>() > 0xFFFFFFFF)
    throw std::invalid_argument(std::string("\"") + key +
                                "\" must be a number from 0 to 4294967295");
  return it->get<std::uint32_t>();
}

std::uint32_t needed(const ordered_json& request, const char* key) {
  const auto number = number_of(request, key);
  if (!number) throw std::invalid_argument(std::string("the request lacks \"") + key + "\"");
  return *number;
}

void check_keys(const ordered_json& request, std::initializer_list<std::string_view> allowed) {
  std::string names;
  for (const std::string_view name : allowed) names.append(names.empty() ? "" : ", ").append(name);
  for (const auto& [key, value] : request.items())
    if (std::find(allowed.begin(), allowed.end(), key) == allowed.end())
      throw std::invalid_argument(std::string("unknown key '").append(key).append("'; allowed: ") +
                                  names);
}

ordered_json answer(std::string_view line, const ShowFunction& show, const ExcludeFunction& exclude,
                    const ReloadFunction& reload) {
  const ordered_json request = ordered_json::parse(line, nullptr, false);
  if (request.is_discarded() || !request.is_object())
    throw std::invalid_argument("the request is not a JSON object on one line");
  const std::string command = text_of(request, "command");
  if (command == "show") {
    check_keys(request, {"command", "what"});
    return {{"ok", true}, {"data", show(text_of(request, "what"))}};
  }
  if (exclude && (command == "exclude" || command == "reinstate")) {
    check_keys(request, {"command", "job", "rank", "from"});
    const std::uint32_t from = exclude({needed(request, "job"), needed(request, "rank"),
                                        command == "exclude", number_of(request, "from")});
    return {{"ok", true}, {"data", {{"from", from}}}};
  }
  if (reload && command == "reload") {
    check_keys(request, {"command"});
    return {{"ok", true}, {"data", reload()}};
  }
  throw std::invalid_argument("no command is called '" + command + "'; allowed: show" +
                              (exclude ? ", exclude, reinstate" : "") + (reload ? ", reload" : ""));
}

}  // namespace

std::string answer_request(std::string_view line, const ShowFunction& show,
                           const ExcludeFunction& exclude, const ReloadFunction& reload) {
  ordered_json reply;
  try {
    reply = answer(line, show, exclude, reload);
  } catch (const std::exception& error) {
    reply = {{"ok", false}, {"error", error.what()}};
  }
  // An error may quote what came in, which need not be UTF-8.
  return reply.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace tributary::control
