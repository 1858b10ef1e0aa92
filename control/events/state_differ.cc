#include "control/events/state_differ.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "core/wire/drain.h"

namespace tributary::control {
namespace {

std::string name_of(const SwitchState::Job& job) {
  std::string text = job.name.empty() ? "" : "'" + job.name + "' ";
  if (job.plane != 0) text += "plane " + std::to_string(job.plane) + " ";
  return text;
}

std::string milliseconds(std::uint64_t microseconds) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f ms", static_cast<double>(microseconds) / 1e3);
  return text.data();
}

std::string list_of(const std::vector<std::uint32_t>& ranks) {
  constexpr std::size_t kMost = 16;
  std::string text;
  for (std::size_t i = 0; i < std::min(ranks.size(), kMost); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
  return ranks.size() > kMost ? text + ", ..." : text;
}

}  // namespace

std::vector<Event> StateDiffer::look(const SwitchState& state,
                                     std::chrono::system_clock::time_point now) {
  now_ = now;
  std::vector<Event> out;
  for (const auto& job : state.jobs) look_at_job(job, out);
  for (const auto& seat : state.seats) look_at_seat(seat, out);
  for (const auto& drops : state.drops) look_at_drops(drops, out);
  for (Event& event : late_.look(state.children, now)) out.push_back(std::move(event));
  // A job that has gone begins anew if it comes back.
  std::erase_if(jobs_, [&](const auto& known) {
    return std::none_of(state.jobs.begin(), state.jobs.end(), [&](const auto& job) {
      return std::pair(job.id, job.plane) == known.first;
    });
  });
  return out;
}

void StateDiffer::look_at_job(const SwitchState::Job& job, std::vector<Event>& out) {
  const auto [at, is_new] = jobs_.try_emplace({job.id, job.plane});
  Known& known = at->second;
  if (!is_new && job.aborts > known.aborts) {
    std::string text =
        name_of(job) + "epoch ended: " + (job.last_abort.empty() ? "unknown" : job.last_abort);
    if (!job.missing.empty()) text += "; rank(s) " + list_of(job.missing);
    if (job.aborts > known.aborts + 1)
      text += "; the latest of " + std::to_string(job.aborts - known.aborts);
    out.push_back({now_, LogLevel::error, "epoch", job.id, text});
  }
  const bool drained = !is_new && job.drains > known.drains;
  if (drained) {
    std::string text = name_of(job) + "epoch drained after " + std::to_string(job.drained_at) +
                       " ops, " +
                       (job.drained_by == wire::kByRanks
                            ? "for another number of ranks"
                            : "for a change of switch " + std::to_string(job.drained_by));
    if (job.drains > known.drains + 1)
      text += "; the latest of " + std::to_string(job.drains - known.drains);
    out.push_back({now_, LogLevel::notice, "epoch", job.id, text});
  }
  const bool begins = job.running && (!known.running || known.epoch != job.epoch);
  const bool resumes = drained || known.resumes;
  if (begins)
    out.push_back({now_, LogLevel::notice, "epoch", job.id,
                   name_of(job) + "epoch " + std::to_string(job.epoch) + " runs with " +
                       std::to_string(job.workers) + " ranks" +
                       (resumes ? ", which waited " + milliseconds(job.pause_us) : "")});
  else if (known.running && !job.running && job.aborts == known.aborts && !drained)
    out.push_back(
        {now_, LogLevel::notice, "epoch", job.id,
         name_of(job) + "epoch " + std::to_string(known.epoch) + " is over: its ranks left"});
  known = {job.running, job.epoch, job.aborts, job.drains,
           resumes && !begins && job.aborts == known.aborts};
}

void StateDiffer::look_at_seat(const SwitchState::Seat& seat, std::vector<Event>& out) {
  const auto [at, is_new] = hosts_.try_emplace({seat.job, seat.shard}, seat.host);
  if (is_new || at->second == seat.host) return;
  out.push_back({now_, LogLevel::warning, "host", seat.job,
                 "shard " + std::to_string(seat.shard) + " is completed at " + seat.host +
                     ", no longer at " + at->second + " (" + seat.why + ")"});
  at->second = seat.host;
}

void StateDiffer::look_at_drops(const SwitchState::Drops& drops, std::vector<Event>& out) {
  const auto [at, is_new] = drops_.try_emplace({drops.port, drops.reason});
  Dropped& known = at->second;
  // Another port may have the name.
  if (drops.packets <= known.packets) {
    known.packets = drops.packets;
    return;
  }
  const bool begins = is_new || now_ - known.grew >= kQuiet;
  if (begins)
    out.push_back({now_, LogLevel::warning, "drops", std::nullopt,
                   "port " + drops.port + " drops packets: " + drops.reason + " (" +
                       std::to_string(drops.packets - known.packets) + " so far)"});
  known = {drops.packets, now_};
}

}  // namespace tributary::control
