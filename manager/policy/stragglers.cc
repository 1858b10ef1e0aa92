#include "manager/policy/stragglers.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "config/topology/topology_tree.h"

namespace tributary::manager {
namespace {

struct Row {
  const std::string* at = nullptr;  // the switch
  Lateness lateness;
};
using Rows = std::map<std::pair<std::uint32_t, std::uint32_t>, Row>;  // by job and rank

Rows rows_of_ranks(const LatenessBySwitch& reports) {
  Rows rows;
  for (const auto& [at, children] : reports)
    for (const Lateness& child : children) {
      if (child.is_switch || child.ranks.size() != 1) continue;
      // Planes have a row each: the latest one counts, with the worst op of all.
      Row& row = rows[{child.job, child.ranks[0]}];
      const double max_ms = std::max(row.lateness.max_ms, child.max_ms);
      if (row.at == nullptr || child.mean_ms > row.lateness.mean_ms) row = {&at, child};
      row.lateness.max_ms = max_ms;
    }
  return rows;
}

std::vector<Straggler> ranks_of(const Job& job, const config::Topology& topology,
                                const Rows& rows) {
  std::vector<Straggler> ranks;
  for (const auto& member : config::members_of(topology, *job.placed))
    if (const auto row = rows.find({job.id, member.rank}); row != rows.end())
      ranks.push_back({.job = job.request.job.config.name,
                       .tenant = job.request.tenant,
                       .rank = member.rank,
                       .worker = member.worker,
                       .at = *row->second.at,
                       .lateness = row->second.lateness});
  return ranks;
}

double median_ms(const std::vector<Straggler>& ranks) {
  std::vector<double> means;
  for (const Straggler& rank : ranks) means.push_back(rank.lateness.mean_ms);
  const auto middle = means.begin() + static_cast<std::ptrdiff_t>((means.size() - 1) / 2);
  std::nth_element(means.begin(), middle, means.end());
  return *middle;
}

// A worker's jobs, and in how many of them it is late.
struct Record {
  int jobs = 0;
  int late = 0;
};

}  // namespace

std::vector<Straggler> worst_first(const Admission& admission, const LatenessBySwitch& reports) {
  const Rows rows = rows_of_ranks(reports);
  std::vector<Straggler> all;
  std::map<std::string, Record> records;
  for (const auto& [name, job] : admission.jobs()) {
    if (!job.admitted() || !job.placed) continue;
    auto ranks = ranks_of(job, admission.topology(), rows);
    if (ranks.empty()) continue;
    const double late_ms = std::max(kLateMs, 2 * median_ms(ranks));
    for (const Straggler& rank : ranks) {
      Record& record = records[rank.worker];
      ++record.jobs;
      if (rank.lateness.mean_ms > late_ms) ++record.late;
    }
    std::move(ranks.begin(), ranks.end(), std::back_inserter(all));
  }
  for (Straggler& rank : all) {
    const Record& record = records[rank.worker];
    rank.everywhere = record.jobs > 1 && record.late == record.jobs;
  }
  std::stable_sort(all.begin(), all.end(), [](const Straggler& a, const Straggler& b) {
    return a.lateness.mean_ms > b.lateness.mean_ms;
  });
  return all;
}

}  // namespace tributary::manager
