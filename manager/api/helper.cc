#include "manager/api/helper.h"

#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "manager/api/certificate.h"
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
    return {{"ok", true}, {"reply", ask(json::parse(text_of_request))}};
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

// As answer(), of a manager: `ask` has a client of it and the time limit, and returns JSON's text.
template <typename Ask>
json answer_of_manager(const char* text_of_request, Ask ask) {
  return answer(text_of_request, [&](const json& request) {
    manager::Client client({text(request, "manager"), text(request, "ca"), text(request, "cert"),
                            text(request, "key")},
                           request.value("stop_fd", -1));
    const double seconds = request.value("timeout_s", 10.0);
    const auto timeout = Duration::ns(static_cast<std::int64_t>(seconds * 1e9));
    return json::parse(ask(client, request, timeout));
  });
}

json validity(const std::string& path) {
  try {
    const manager::Validity valid = manager::validity_of(path);
    return {{"path", path}, {"days", valid.days}, {"until", valid.until}};
  } catch (const std::runtime_error& error) {
    return {{"path", path}, {"problem", error.what()}};
  }
}

char* copy(const json& reply) {
  return strdup(reply.dump(-1, ' ', false, json::error_handler_t::replace).c_str());
}

}  // namespace

char* tributary_manager_call(const char* request) {
  return copy(answer_of_manager(request, [](manager::Client& client, const json& asked,
                                            Duration timeout) {
    return client.call(asked.at("method").get<std::string>(), asked.at("request").dump(), timeout);
  }));
}

char* tributary_manager_wait(const char* request) {
  return copy(answer_of_manager(request, [](manager::Client& client, const json& asked,
                                            Duration timeout) {
    return manager::wait_until_running(
        client, {text(asked, "job"), text(asked, "request"), text(asked, "file_name")}, timeout);
  }));
}

char* tributary_manager_certificates(const char* request) {
  return copy(answer(request, [](const json& asked) {
    json files = json::array();
    for (const json& path : asked.at("files")) files.push_back(validity(path.get<std::string>()));
    return files;
  }));
}

void tributary_manager_free(char* reply) {
  std::free(reply);
}
