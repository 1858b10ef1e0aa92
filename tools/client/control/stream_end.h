// How a capture's or a trace's stream ended: as its reader wanted, or because the switch ended it
// and said why (control/capture/capture_format.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tributary::client {

// Keeps the last bytes of a stream.
class StreamEnd {
 public:
  void add(std::string_view bytes);
  [[nodiscard]] std::string_view bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// Why a pcapng file or a trace's text ended before it was complete; nullopt: it did not.
std::optional<std::string> why_file_ended(std::string_view end);
std::optional<std::string> why_text_ended(std::string_view end);

}  // namespace tributary::client
