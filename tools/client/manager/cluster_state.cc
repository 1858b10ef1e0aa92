#include "tools/client/manager/cluster_state.h"

namespace tributary::client {
namespace {

using Level = Finding::Level;

constexpr const char* kAnotherCertificate =
    "ask the authority for another one; running programs take it when they are restarted";

std::string text(const Json& row, const char* key) {
  const auto at = row.find(key);
  return at != row.end() && at->is_string() ? harmless(at->get<std::string>()) : "";
}

Finding judge_switch(const Json& sw, const std::string& version) {
  const std::string subject = "switch " + text(sw, "name");
  if (!sw.value("connected", false))
    return {Level::error, subject, "no agent speaks for it: no job starts there",
            "start tributary-agentd on its node with --switch and its control socket; its log says "
            "whether the switch or the manager does not answer"};
  if (const std::string problem = text(sw, "problem"); !problem.empty())
    return {Level::error, subject, problem, "its document is not in force; see its log"};
  if (text(sw, "bytes") == "0")
    return {Level::error, subject, "has no memory for jobs of a manager",
            "set memory.reserve_megabytes in the topology, and restart the switch and the manager"};
  const std::string own = text(sw, "term") + "/" + text(sw, "revision");
  if (own != version)
    return {Level::warning, subject,
            "has the document of term/revision " + own + ", the newest is " + version,
            "it is on its way; if this stays, see the agent's log"};
  return {Level::ok, subject, "has the newest document", ""};
}

// Adds nothing where the agent has this program's version, or has never said which.
void judge_version(const Json& sw, Findings& found) {
  const std::string version = text(sw, "version");
  if (version.empty() || version == TRIBUTARY_VERSION) return;
  found.push_back({Level::warning, "agent of switch " + text(sw, "name"),
                   "is of version " + version + ", and this program is of " + TRIBUTARY_VERSION,
                   "install one version on all nodes, and restart tributary-agentd there"});
}

void judge_cables(const Json& sw, Findings& found) {
  for (const Json& wrong : sw.value("wrong_cables", Json::array()))
    found.push_back({Level::error, "switch " + text(sw, "name"), harmless(wrong.get<std::string>()),
                     "move the cable, or mend the topology; jobs over this link get no data"});
}

Finding judge_job(const Json& job) {
  const std::string subject = "job " + text(job, "name");
  const std::string waits_for = text(job, "waits_for");
  if (text(job, "state") == "QUEUED")
    return {Level::warning, subject, "waits: " + waits_for,
            "it starts when that is free; `tributary job list` shows what runs"};
  if (text(job, "state") == "STARTING")
    return {Level::error, subject, "has its place, and these switches do not have it: " + waits_for,
            "see these switches in `tributary doctor --manager` of an operator"};
  return {Level::ok, subject, "runs: ranks may join", ""};
}

}  // namespace

Findings judge_certificates(const Json& files) {
  constexpr std::int64_t kSoonDays = 14;
  Findings found;
  for (const Json& file : files) {
    const std::string subject = "certificate " + text(file, "path");
    if (const std::string problem = text(file, "problem"); !problem.empty()) {
      found.push_back({Level::error, subject, problem, "name a file in PEM that has one"});
      continue;
    }
    const auto days = file.value("days", std::int64_t{0});
    const std::string until = text(file, "until");
    if (days < 0)
      found.push_back({Level::error, subject, "expired at " + until, kAnotherCertificate});
    else if (days < kSoonDays)
      found.push_back({Level::warning, subject, "expires soon, at " + until, kAnotherCertificate});
    else
      found.push_back({Level::ok, subject, "is valid until " + until, ""});
  }
  return found;
}

Findings judge_cluster(const Json& topology) {
  Findings found;
  const std::string version = text(topology, "term") + "/" + text(topology, "revision");
  for (const Json& sw : topology.value("switches", Json::array())) {
    found.push_back(judge_switch(sw, version));
    judge_version(sw, found);
    judge_cables(sw, found);
  }
  for (const Json& worker : topology.value("workers", Json::array()))
    if (worker.value("drained", false))
      found.push_back({Level::warning, "worker " + text(worker, "name"), "gets no new jobs",
                       "tributary job drain-node " + text(worker, "name") + " --undo"});
  return found;
}

Findings judge_cluster_jobs(const Json& jobs) {
  Findings found;
  for (const Json& job : jobs) found.push_back(judge_job(job));
  return found;
}

}  // namespace tributary::client
