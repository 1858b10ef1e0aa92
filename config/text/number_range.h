// Numbers from one to another: VLANs, UDP and TCP ports.
#pragma once

#include <cstdint>
#include <string>

namespace tributary::config {

struct NumberRange {
  std::uint16_t first = 0;
  std::uint16_t last = 0;
};

// "10", "100-199".
std::string text_of(const NumberRange& range);

}  // namespace tributary::config
