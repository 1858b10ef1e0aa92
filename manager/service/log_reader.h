// Reads the output of a container from its node's agent.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "manager/service/pod_cluster.h"

namespace tributary::manager {

struct LogError : std::runtime_error {
  enum class Kind : std::uint8_t {
    no_pod,
    no_container,
    no_place,  // or the node has no such output
    busy,      // the node has too many such questions
    silent     // the node's agent does not answer
  };
  LogError(Kind what, const std::string& text) : std::runtime_error(text), kind(what) {}
  Kind kind;
};

inline constexpr std::uint32_t kMostLogLines = 1000;

// The last lines. `container`: empty: the first one; `lines`: 0: kMostLogLines. Waits up to ten
// seconds. Throws LogError.
std::string read_log(PodCluster& pods, const std::string& pod, const std::string& container,
                     std::uint32_t lines);

}  // namespace tributary::manager
