#include "control/text/late_loops.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <stdexcept>

namespace tributary::control {
namespace {

std::string time_of_day(std::chrono::system_clock::time_point when) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(when);
  std::tm local{};
  localtime_r(&seconds, &local);
  std::array<char, 16> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%H:%M:%S", &local)};
}

}  // namespace

std::string late_text(const dataplane::Switch& sw, const dataplane::PacketLoop& packet_loop) {
  return "lcore " + std::to_string(packet_loop.lcore()) + " has not come to the change of " +
         time_of_day(sw.since()) + " yet";
}

std::vector<std::string> late_notes(const dataplane::Switch& sw, std::size_t lcores) {
  std::vector<std::string> notes;
  for (std::size_t lcore = 0; lcore < std::min(lcores, sw.packet_loops().size()); ++lcore)
    if (const dataplane::PacketLoop& packet_loop = sw.packet_loops()[lcore]; packet_loop.is_late())
      notes.push_back(late_text(sw, packet_loop) + ": what it has is not shown");
  return notes;
}

void check_in_time(const dataplane::Switch& sw, const dataplane::PacketLoop& packet_loop) {
  if (packet_loop.is_late())
    throw std::runtime_error(late_text(sw, packet_loop) +
                             "; it will when it wakes up, try again then");
}

void check_in_time(const dataplane::Switch& sw, std::uint32_t job) {
  for (const dataplane::PacketLoop* const packet_loop : sw.owners_of(job))
    check_in_time(sw, *packet_loop);
}

void refuse_job(const dataplane::Switch& sw, std::uint32_t job) {
  check_in_time(sw, job);
  throw std::invalid_argument("job " + std::to_string(job) +
                              " is not here; `show jobs` lists those that are");
}

}  // namespace tributary::control
