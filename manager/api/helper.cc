#include "manager/api/helper.h"

#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "manager/api/wait.h"

namespace {

using nlohmann::json;
using tributary::Duration;
namespace manager = tributary::manager;

json failure(const std::string& code, const char* error) {
  return {{"ok", false}, {"code", code}, {"error", error}};
}

std::string text(const json& request, const char* key) {
  return request.value(key, "");
}

template <typename Ask>
json answer(const char* text_of_request, Ask ask) {
  try {
    const json request = json::parse(text_of_request);
    manager::Client client({text(request, "manager"), text(request, "ca"), text(request, "cert"),
                            text(request, "key")});
    const double seconds = request.value("timeout_s", 10.0);
    const auto timeout = Duration::ns(static_cast<std::int64_t>(seconds * 1e9));
    return {{"ok", true}, {"reply", json::parse(ask(client, request, timeout))}};
  } catch (const manager::ManagerError& error) {
    return failure(error.code(), error.what());
  } catch (const std::invalid_argument& error) {
    return failure("USAGE", error.what());
  } catch (const json::exception& error) {
    return failure("USAGE", error.what());
  } catch (const std::exception& error) {
    return failure("FAILED", error.what());
  }
}

char* copy(const json& reply) {
  return strdup(reply.dump(-1, ' ', false, json::error_handler_t::replace).c_str());
}

}  // namespace

char* tributary_manager_call(const char* request) {
  return copy(answer(request, [](manager::Client& client, const json& asked, Duration timeout) {
    return client.call(asked.at("method").get<std::string>(), asked.at("request").dump(), timeout);
  }));
}

char* tributary_manager_wait(const char* request) {
  return copy(answer(request, [](manager::Client& client, const json& asked, Duration timeout) {
    return manager::wait_until_running(
        client, {text(asked, "job"), text(asked, "request"), text(asked, "file_name")}, timeout);
  }));
}

void tributary_manager_free(char* reply) {
  std::free(reply);
}
