// Tells engines that the client of a memif port is gone, so that its peers need not wait for the
// lease of its rank: of the library's client at once, when its process has ended or has closed the
// connection. Of others a while later: one that lives may connect again.
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

  // Longer than any lease: the client will not come back.
  static constexpr Duration kForGood = Duration::seconds(100'000'000);

  struct Seen {
    bool connected = false;
    std::uint32_t losses = 0;  // connections that ended so far
    std::uint32_t deaths = 0;  // MemifPort::deaths()
  };
  // `longest`: when all jobs have been told. Returns for how long the client has been gone, if
  // engines are to be told now. One thread at a time.
  std::optional<Duration> look(const Seen& seen, Duration longest, Instant now);

 private:
  struct Gone {
    std::uint32_t losses = 0;
    Instant since, told;
    bool settled = false;  // engines need not be told any more
  };
  std::optional<Gone> gone_;
  std::uint32_t deaths_ = 0;  // that engines know of
};

}  // namespace tributary::dataplane
