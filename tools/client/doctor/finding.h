// A finding of `tributary doctor`: one line of state, and what to do about it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tributary::client {

struct Finding {
  // ok: as it should be. warning: works, but slowly or not for every user. error: keeps a job from
  // working.
  enum class Level : std::uint8_t { ok, warning, error };

  Level level = Level::ok;
  std::string subject;  // "interface eth0"
  std::string state;    // "transmit checksum offload is on, and it is a veth"
  std::string remedy;   // "ethtool -K eth0 tx off"; empty where nothing is to be done
};
using Findings = std::vector<Finding>;

const char* name_of(Finding::Level level);
// A line for each finding, and an indented one for its remedy.
std::string text_of(const Findings& findings);
bool has_errors(const Findings& findings);

}  // namespace tributary::client
