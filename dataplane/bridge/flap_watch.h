// Turns addresses that flap into lines for the operator: one at once, and then at most one in ten
// seconds, however many there are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/time.h"
#include "dataplane/bridge/fdb.h"

namespace tributary::dataplane {

class FlapWatch {
 public:
  static constexpr Duration kQuiet = Duration::seconds(10);

  // Any thread, one at a time. nullopt: nothing to say.
  std::optional<std::string> look(const Fdb::Counters& counters, Instant now);

 private:
  std::uint64_t reported_ = 0;
  std::optional<Instant> last_;
};

}  // namespace tributary::dataplane
