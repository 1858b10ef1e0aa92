#include "control/change/drain.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>

#include "config/text/codec.h"

namespace tributary::control {
namespace {

std::vector<std::uint32_t> all_jobs(dataplane::Switch& sw) {
  const auto held = sw.hold();
  std::vector<std::uint32_t> jobs;
  for (const config::JobConfig& job : sw.config().jobs) jobs.push_back(job.id);
  return jobs;
}

}  // namespace

std::string list_of_jobs(const std::vector<std::uint32_t>& jobs) {
  std::string text = jobs.size() == 1 ? "job " : "jobs ";
  for (std::size_t i = 0; i < jobs.size(); ++i)
    text.append(i == 0 ? "" : ", ").append(std::to_string(jobs[i]));
  return text;
}

std::vector<std::uint32_t> drain_jobs(dataplane::Switch& sw, const DrainRequest& request) {
  std::vector<std::uint32_t> jobs = request.jobs.empty() ? all_jobs(sw) : request.jobs;
  std::sort(jobs.begin(), jobs.end());
  jobs.erase(std::unique(jobs.begin(), jobs.end()), jobs.end());
  if (request.undo) {
    sw.release(jobs);
    return jobs;
  }
  const auto [still, waited] = sw.drain(jobs);
  if (still.empty()) return jobs;
  std::vector<std::uint32_t> drained;
  std::set_difference(jobs.begin(), jobs.end(), still.begin(), still.end(),
                      std::back_inserter(drained));
  throw std::runtime_error(
      list_of_jobs(still) + ": not drained within " + config::format_duration(waited) +
      ", and not held: a rank has not called an op that others wait in, or a rank's library is "
      "too old for drains" +
      (drained.empty() ? "" : "; drained: " + list_of_jobs(drained)));
}

}  // namespace tributary::control
