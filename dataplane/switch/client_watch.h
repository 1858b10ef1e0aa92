// Tells engines that the client of a memif port is gone: a client that lives connects again soon,
// so its peers need not wait for the lease of its rank.
//
// Time counts from the last connection's end. A port that was opened again is another port: begin
// anew there. Looks may be rare: a connection that came and went between two of them shows in the
// port's count of losses.
#pragma once

#include <cstdint>
#include <optional>

#include "core/time.h"

namespace tributary::dataplane {

class ClientWatch {
 public:
  // A client that lives connects again within this time; engines are told as often.
  static constexpr Duration kReturns = Duration::seconds(1);

  // `losses`: connections that ended so far. `longest`: when all jobs have been told. Returns for
  // how long the client has been gone, if engines are to be told now. One thread at a time.
  std::optional<Duration> look(bool connected, std::uint32_t losses, Duration longest, Instant now);

 private:
  struct Gone {
    std::uint32_t losses = 0;
    Instant since, told;
    bool settled = false;  // engines need not be told any more
  };
  std::optional<Gone> gone_;
};

}  // namespace tributary::dataplane
