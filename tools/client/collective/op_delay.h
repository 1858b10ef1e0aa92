// A rank that is late on purpose: for how long it waits before an op, as an option or a file says.
//
// The file is read again before each op, so that lateness comes and goes while a job runs; none, or
// an empty one, means no delay. Text: "200ms", "200ms every 3" (ops 0, 3, 6... of this rank) or
// "off".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/time.h"

namespace tributary::client {

struct Lateness {
  Duration by;
  std::uint32_t every = 1;
};
// Throws std::invalid_argument with what is allowed.
Lateness parse_lateness(std::string_view text);

class OpDelay {
 public:
  // `text` counts where it is not empty; otherwise the file, if there is a path.
  OpDelay(std::string_view text, std::string path);

  // The delay before the next op; counts it. Throws std::invalid_argument for a bad file.
  Duration next();
  // Waits for as long.
  void before_op();

 private:
  Lateness fixed_;
  std::string path_;
  std::uint64_t op_ = 0;
};

}  // namespace tributary::client
