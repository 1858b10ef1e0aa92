#include "control/events/epoch_lines.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "core/wire/drain.h"

namespace tributary::control {
namespace {

using aggregator::EpochRecord;

std::string milliseconds_text(Duration time) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f ms", static_cast<double>(time.to_ns()) / 1e6);
  return text.data();
}

std::string ranks_of(const EpochRecord& record) {
  std::string text;
  for (const std::uint16_t rank : record.named())
    text += (text.empty() ? "; rank(s) " : ", ") + std::to_string(rank);
  return record.count > EpochRecord::kMostRanks ? text + ", ..." : text;
}

std::string text_of(const EpochRecord& record) {
  using What = EpochRecord::What;
  const std::string epoch = "epoch " + std::to_string(record.epoch);
  switch (record.what) {
    case What::began:
      return epoch + " runs with " + std::to_string(record.count) + " ranks" +
             (record.resumes ? ", which waited " + milliseconds_text(record.pause) +
                                   (record.retries ? " after a loss" : " after a drain")
                             : "");
    case What::left: return epoch + " is over: its ranks left";
    case What::drained:
      return epoch + " drained after " + std::to_string(record.op) + " ops, " +
             (record.by == wire::kByRanks ? "for another number of ranks"
                                          : "for a change of switch " + std::to_string(record.by));
    case What::aborted:
      return epoch + " ended: " + wire::name_of(record.reason) + ranks_of(record) +
             (record.by != 0 ? "; switch " + std::to_string(record.by) : "");
  }
  return epoch;
}

}  // namespace

std::vector<Event> EpochLines::look(std::vector<SeenEpoch> epochs, const Names& jobs, bool whole) {
  for (const auto& [job, name] : jobs) names_[job] = name;
  std::stable_sort(epochs.begin(), epochs.end(),
                   [](const SeenEpoch& a, const SeenEpoch& b) { return a.at < b.at; });
  std::vector<Event> out;
  for (const SeenEpoch& seen : epochs) tell(seen, out);
  // An lcore that is late may still have such jobs.
  if (!whole) return out;
  std::erase_if(known_,
                [&](const auto& known) { return !jobs.contains(std::get<0>(known.first)); });
  names_ = jobs;
  return out;
}

void EpochLines::tell(const SeenEpoch& seen, std::vector<Event>& out) {
  const EpochRecord& record = seen.record;
  std::string name = names_[record.job].empty() ? "" : "'" + names_[record.job] + "' ";
  if (record.plane != 0) name += "plane " + std::to_string(record.plane) + " ";
  Known& known = known_[{record.job, record.plane, seen.lcore}];
  if (known.first != record.first) known = {record.first, 0};
  if (record.nth > known.next)
    out.push_back({seen.at, LogLevel::warning, "epoch", record.job,
                   name + std::to_string(record.nth - known.next) +
                       " lines about its epochs are left out: only the latest " +
                       std::to_string(aggregator::EpochLog::kMost) + " within a second are kept"});
  known.next = record.nth + 1;
  const bool aborted = record.what == EpochRecord::What::aborted;
  out.push_back({seen.at, aborted ? LogLevel::error : LogLevel::notice, "epoch", record.job,
                 name + text_of(record)});
}

}  // namespace tributary::control
