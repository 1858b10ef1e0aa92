// What the tables of `show` have in common: asking the packet loop, and how values are written.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/time.h"
#include "dataplane/switch.h"

namespace tributary::control {

inline constexpr Duration kLoopAnswer = Duration::seconds(2);

// Runs `read(worker, now)` on the packet loop's lcore.
template <typename F>
auto on_loop(dataplane::Switch& sw, F read) {
  dataplane::Worker* worker = &sw.worker();
  return worker->mailbox().ask(
      [worker, read = std::move(read)](Instant now) { return read(*worker, now); }, kLoopAnswer);
}

inline double milliseconds(Duration d) {
  return static_cast<double>(d.to_ns()) * 1e-6;
}
inline std::string rank_text(const std::vector<std::uint32_t>& ranks) {
  std::string text;
  for (const auto rank : ranks) {
    if (!text.empty()) text += ' ';
    text += std::to_string(rank);
  }
  return text;
}

}  // namespace tributary::control
