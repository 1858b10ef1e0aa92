// One question to a running tributary-switchd over its unix socket.
//
// Request: one line of JSON, {"command":"show","what":"ports"}. Reply: one line,
// {"ok":true,"data":...} or {"ok":false,"error":"..."}, after which the switch closes.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

#include "core/time.h"
#include "tools/client/table.h"

namespace tributary::client {

inline constexpr const char* kDefaultSocket = "/run/tributary/switchd.sock";
inline constexpr std::size_t kMaxReplyBytes = 16u << 20;

// Text says what went wrong with which path, and what to do about it.
class ControlError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The reply's data. Throws ControlError; waits at most `timeout` for the whole exchange.
Json ask_switch(const std::string& socket_path, const Json& request,
                Duration timeout = Duration::seconds(5));

}  // namespace tributary::client
