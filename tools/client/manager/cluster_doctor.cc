// `tributary doctor --manager`: whether the manager answers this caller, and what it says of its
// switches and jobs.
#include "tools/client/manager/cluster_state.h"
#include "tools/client/manager/manager_library.h"

namespace tributary::client {
namespace {

std::string remedy_of(const manager::ManagerError& error) {
  if (error.code() == "UNAVAILABLE" || error.code() == "DEADLINE_EXCEEDED")
    return "start tributary-managerd, or name another one; over TLS both sides' certificates have "
           "to "
           "be of one authority and valid now";
  return "";
}

}  // namespace

Findings look_at_manager(const manager::Target& target) {
  Findings found;
  const auto add = [&found](const Findings& more) {
    found.insert(found.end(), more.begin(), more.end());
  };
  const std::string subject = "manager " + target.address;
  try {
    add(judge_certificates(certificates_of(target)));
    const Json jobs = call_manager(target, "Jobs.List", Json::object());
    found.push_back({Finding::Level::ok, subject, "answers", ""});
    try {
      add(judge_cluster(call_manager(target, "Cluster.Topology", Json::object())));
    } catch (const manager::ManagerError& error) {
      // The manager answers questions about switches to operators alone.
      if (error.code() != "PERMISSION_DENIED") throw;
    }
    add(judge_cluster_jobs(jobs["jobs"]));
  } catch (const manager::ManagerError& error) {
    found.push_back({Finding::Level::error, subject, error.what(), remedy_of(error)});
  } catch (const std::runtime_error& error) {
    found.push_back({Finding::Level::error, subject, error.what(), ""});
  }
  return found;
}

}  // namespace tributary::client
