#include "tools/client/manager/manager_library.h"

#include <sstream>

#include "tools/client/helper_library.h"

namespace tributary::client {
namespace {

constexpr HelperLibrary::Names kLibrary{.file = "libtributary-manager.so.0",
                                        .release = "tributary_manager_free",
                                        .commands = "commands of the manager",
                                        .option = "manager"};

Json with_target(const manager::Target& target, Json request) {
  request["manager"] = target.address;
  request["ca"] = target.ca;
  request["cert"] = target.certificate;
  request["key"] = target.key;
  return request;
}

// An error of the time limit says which one it was.
std::string text_of(const HelperFailure& failure, double timeout_s) {
  if (failure.code != "DEADLINE_EXCEEDED") return failure.error;
  std::ostringstream text;
  text << failure.error << "; gave up after " << timeout_s << " s";
  return text.str();
}

Json ask(const char* function, const Json& request) {
  static const HelperLibrary library(kLibrary);
  try {
    return library.ask(function, request);
  } catch (const HelperFailure& failure) {
    throw manager::ManagerError(failure.code, text_of(failure, request.value("timeout_s", 0.0)));
  }
}

}  // namespace

Json call_manager(const manager::Target& target, const std::string& method, const Json& request,
                  double timeout_s, int stop) {
  return ask("tributary_manager_call", with_target(target, {{"method", method},
                                                            {"request", request},
                                                            {"timeout_s", timeout_s},
                                                            {"stop_fd", stop}}));
}

Json wait_until_running(const manager::Target& target, const manager::Wanted& wanted,
                        double timeout_s) {
  return ask("tributary_manager_wait", with_target(target, {{"job", wanted.job},
                                                            {"request", wanted.request},
                                                            {"file_name", wanted.file_name},
                                                            {"timeout_s", timeout_s}}));
}

Json certificates_of(const manager::Target& target) {
  Json files = Json::array();
  for (const std::string& path : {target.certificate, target.ca})
    if (!path.empty()) files.push_back(path);
  if (files.empty()) return files;
  return ask("tributary_manager_certificates", {{"files", files}});
}

}  // namespace tributary::client
