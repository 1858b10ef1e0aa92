// Runs a function on the packet loop of a parameter server.
#pragma once

#include "tools/psd/server_loop.h"

namespace tributary::psd {

inline constexpr Duration kLoopAnswer = Duration::seconds(2);

// Returns `read(server, now)`, of the loop's thread. Throws std::runtime_error when the loop does
// not answer.
template <typename F>
auto on_loop(ServerLoop& loop, F read) {
  loop.wake();
  return loop.mailbox().ask([&loop, read](Instant now) { return read(loop.server(), now); },
                            kLoopAnswer);
}

}  // namespace tributary::psd
