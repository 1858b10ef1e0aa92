#include "control/events/state_differ.h"

#include <utility>

namespace tributary::control {

std::vector<Event> StateDiffer::look(const SwitchState& state,
                                     std::chrono::system_clock::time_point now) {
  now_ = now;
  std::vector<Event> out = epochs_.look(state.epochs, state.jobs, state.whole);
  for (const auto& seat : state.seats) look_at_seat(seat, out);
  for (const auto& drops : state.drops) look_at_drops(drops, out);
  for (Event& event : late_.look(state.children, now)) out.push_back(std::move(event));
  return out;
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
