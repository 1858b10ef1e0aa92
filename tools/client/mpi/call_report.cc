#include "tools/client/mpi/call_report.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace tributary::client {
namespace {

// A line that contains it is held back until it is whole.
constexpr std::string_view kSender = "tributary: rank 0: ";

}  // namespace

CallReport::CallReport(std::function<void(std::string_view)> pass_on)
    : pass_on_(std::move(pass_on)) {}

void CallReport::take(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    line_ += bytes.substr(0, end == std::string_view::npos ? end : end + 1);
    if (end == std::string_view::npos) break;
    end_line();
    bytes.remove_prefix(end + 1);
  }
  // A prompt has no end of line.
  if (line_.find(kSender, 0) != std::string::npos) return;
  pass_on_(std::string_view(line_).substr(passed_));
  passed_ = line_.size();
}

void CallReport::finish() {
  if (!line_.empty()) end_line();
}

void CallReport::end_line() {
  const auto found = mpi::read_counts(line_);
  const bool announced = mpi::announces_counts(line_);
  reached_ = reached_ || announced || found;
  if (found) {
    counted_ = true;
    counts_.ranks = std::max(counts_.ranks, found->ranks);
    for (std::size_t k = 0; k < mpi::kKinds; ++k) {
      counts_.to_switch[k] += found->to_switch[k];
      counts_.to_mpi[k] += found->to_mpi[k];
    }
  }
  if (!found && !announced) pass_on_(std::string_view(line_).substr(passed_));
  line_.clear();
  passed_ = 0;
}

std::string CallReport::summary() const {
  const auto sum = [](const auto& counts) {
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  };
  const std::string ranks =
      std::to_string(counts_.ranks) + (counts_.ranks == 1 ? " rank" : " ranks");
  const std::uint64_t to_switch = sum(counts_.to_switch);
  if (to_switch + sum(counts_.to_mpi) == 0)
    return "tributary: " + ranks + " called none of the collectives that the switch does\n";
  std::string text;
  for (std::size_t k = 0; k < mpi::kKinds; ++k) {
    if (counts_.to_switch[k] + counts_.to_mpi[k] == 0) continue;
    text += "tributary: " + ranks + ", " + mpi::name_of(static_cast<mpi::Kind>(k)) + ": " +
            std::to_string(counts_.to_switch[k]) + " calls through the switch, " +
            std::to_string(counts_.to_mpi[k]) + " left to MPI\n";
  }
  if (to_switch == 0)
    text += "tributary: no call went through the switch; TRIBUTARY_MPI_LOG=1 says why\n";
  return text;
}

}  // namespace tributary::client
