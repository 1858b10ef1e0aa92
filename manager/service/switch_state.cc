#include "manager/service/switch_state.h"

namespace tributary::manager {

std::vector<std::string> missing_switches(const Job& job,
                                          const std::map<std::string, SwitchState>& switches) {
  std::vector<std::string> missing;
  for (const auto& [node, need] : job.needs) {
    const auto at = switches.find(node);
    if (at == switches.end() || !at->second.last.jobs.contains(job.id)) missing.push_back(node);
  }
  return missing;
}

Phase phase_of(const Job& job, const std::map<std::string, SwitchState>& switches) {
  if (!job.admitted()) return Phase::queued;
  return missing_switches(job, switches).empty() ? Phase::running : Phase::starting;
}

}  // namespace tributary::manager
