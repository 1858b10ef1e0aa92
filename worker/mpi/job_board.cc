#include "worker/mpi/job_board.h"

#include <algorithm>

namespace tributary::mpi {

JobBoard::JobBoard(const std::vector<std::uint32_t>& jobs) {
  for (const std::uint32_t job : jobs) entries_.push_back({job, 0, false, {}});
}

JobBoard::Entry* JobBoard::find(std::uint32_t job) {
  const auto at = std::find_if(entries_.begin(), entries_.end(),
                               [job](const Entry& e) { return e.job == job; });
  return at == entries_.end() ? nullptr : &*at;
}

std::optional<std::uint32_t> JobBoard::take(std::uint32_t size) {
  for (Entry& e : entries_) {
    if (e.users != 0 || e.broken || e.wrong_sizes.contains(size)) continue;
    e.users = size;
    return e.job;
  }
  return std::nullopt;
}

std::string JobBoard::why_none(std::uint32_t size) const {
  if (entries_.empty()) return "TRIBUTARY_JOBS names no job";
  std::size_t used = 0;
  std::size_t wrong = 0;
  std::size_t broken = 0;
  for (const Entry& e : entries_) {
    if (e.broken)
      ++broken;
    else if (e.wrong_sizes.contains(size))
      ++wrong;
    else if (e.users != 0)
      ++used;
  }
  return "no job is left for a group of " + std::to_string(size) + " ranks: TRIBUTARY_JOBS names " +
         std::to_string(entries_.size()) + "; other communicators use " + std::to_string(used) +
         ", the switch has other worker counts for " + std::to_string(wrong) + ", " +
         std::to_string(broken) + " could not be joined";
}

void JobBoard::left(std::uint32_t job) {
  Entry* const e = find(job);
  if (e != nullptr && e->users != 0) --e->users;
}

void JobBoard::wrong_size(std::uint32_t job, std::uint32_t size) {
  Entry* const e = find(job);
  if (e == nullptr) return;
  e->wrong_sizes.insert(size);
  e->users = 0;
}

void JobBoard::broken(std::uint32_t job) {
  Entry* const e = find(job);
  if (e != nullptr) e->broken = true;
}

}  // namespace tributary::mpi
