#include "control/request.h"

#include <exception>
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

ordered_json answer(std::string_view line, const ShowFunction& show) {
  const ordered_json request = ordered_json::parse(line, nullptr, false);
  if (request.is_discarded() || !request.is_object())
    throw std::invalid_argument("the request is not a JSON object on one line");
  const std::string command = text_of(request, "command");
  if (command != "show")
    throw std::invalid_argument("no command is called '" + command + "'; allowed: show");
  for (const auto& [key, value] : request.items())
    if (key != "command" && key != "what")
      throw std::invalid_argument("unknown key '" + key + "'; allowed: command, what");
  return {{"ok", true}, {"data", show(text_of(request, "what"))}};
}

}  // namespace

std::string answer_request(std::string_view line, const ShowFunction& show) {
  ordered_json reply;
  try {
    reply = answer(line, show);
  } catch (const std::exception& error) {
    reply = {{"ok", false}, {"error", error.what()}};
  }
  // An error may quote what came in, which need not be UTF-8.
  return reply.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace tributary::control
