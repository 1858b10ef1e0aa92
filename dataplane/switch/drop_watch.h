// Turns drops that a mistake elsewhere causes into lines for the operator: another host claims the
// switch's address, or a sender's kernel leaves checksums unfinished. One line at once, and then at
// most one a minute for each port and reason.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "config/model/switch_config.h"
#include "core/drop_reason.h"
#include "core/time.h"

namespace tributary::dataplane {

class DropWatch {
 public:
  static constexpr std::array kReasons = {DropReason::own_address, DropReason::checksum_offloaded};
  static constexpr Duration kQuiet = Duration::seconds(60);

  // `count`: what the port has dropped so far for kReasons[which]. nullopt: nothing to say.
  // One thread at a time.
  std::optional<std::string> look(std::size_t place, std::size_t which, const std::string& port,
                                  std::uint64_t count, Instant now);

 private:
  struct Told {
    std::uint64_t count = 0;
    std::optional<Instant> at;
  };
  std::array<std::array<Told, kReasons.size()>, config::kMaxPorts> told_{};
};

}  // namespace tributary::dataplane
