// Questions to a running tributary-switchd over its unix socket.
//
// Request: one line of JSON, {"command":"show","what":"ports"}. Reply: one line,
// {"ok":true,"data":...}, which may have "notes":["..."], or {"ok":false,"error":"..."}, after
// which the switch closes.
#pragma once

#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/time.h"
#include "tools/client/control/table.h"

namespace tributary::client {

inline constexpr const char* kDefaultSocket = "/run/tributary/switchd.sock";
inline constexpr std::size_t kMaxReplyBytes = 16u << 20;

// Text says what went wrong with which path, and what to do about it.
class ControlError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A switch's answer, and notes about it for the user.
struct Reply {
  Json data;
  std::vector<std::string> notes;
};

// Throws ControlError; waits at most `timeout` for the whole exchange.
Reply ask_with_notes(const std::string& socket_path, const Json& request,
                     Duration timeout = Duration::seconds(5));
// The reply's data alone.
Json ask_switch(const std::string& socket_path, const Json& request,
                Duration timeout = Duration::seconds(5));

// The same for a request whose answer is a stream: passes on what follows the reply's line, until
// the switch ends it. SIGINT and SIGTERM ask it to. Throws ControlError, and what `sink` throws.
void stream_from_switch(const std::string& socket_path, const Json& request,
                        const std::function<void(std::string_view bytes)>& sink);

}  // namespace tributary::client
