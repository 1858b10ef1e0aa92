#include "tools/client/control/stream_end.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace tributary::client {
namespace {

constexpr std::size_t kKept = 2048;  // bytes: a last block or line has fewer
constexpr std::string_view kEnded = "ended: ";

// Layout of a pcapng file in this machine's byte order.
constexpr std::uint32_t kStatistics = 5;    // the type of its last block
constexpr std::size_t kBeforeOptions = 20;  // type, length, interface, time
constexpr std::size_t kOptionHeader = 4;    // number, length
constexpr std::uint16_t kComment = 1;
constexpr std::size_t kLeastBlock = kBeforeOptions + sizeof(std::uint32_t);

template <typename T>
T number_at(std::string_view text, std::size_t at) {
  T number{};
  std::memcpy(&number, text.data() + at, sizeof number);
  return number;
}

// The last block if it is one of statistics, without the length that ends it; or empty.
std::string_view last_block(std::string_view end) {
  if (end.size() < kLeastBlock) return {};
  const auto bytes = number_at<std::uint32_t>(end, end.size() - sizeof(std::uint32_t));
  if (bytes < kLeastBlock || bytes > end.size()) return {};
  const std::string_view block = end.substr(end.size() - bytes);
  if (number_at<std::uint32_t>(block, 0) != kStatistics) return {};
  return block.substr(0, bytes - sizeof(std::uint32_t));
}

std::string_view comment_of(std::string_view block) {
  block.remove_prefix(kBeforeOptions);
  while (block.size() >= kOptionHeader) {
    const auto option = number_at<std::uint16_t>(block, 0);
    const std::size_t bytes = number_at<std::uint16_t>(block, sizeof option);
    block.remove_prefix(kOptionHeader);
    if (bytes > block.size()) break;
    if (option == kComment) return block.substr(0, bytes);
    block.remove_prefix(std::min(block.size(), (bytes + 3) / 4 * 4));
  }
  return {};
}

// Fit for a terminal: where a stream was cut off, the text might be any frame's payload.
std::optional<std::string> reason_in(std::string_view text) {
  if (!text.starts_with(kEnded)) return std::nullopt;
  std::string reason(text.substr(kEnded.size()));
  for (char& c : reason)
    if (c < ' ' || c > '~') c = '?';
  return reason;
}

}  // namespace

void StreamEnd::add(std::string_view bytes) {
  bytes_.append(bytes.substr(bytes.size() - std::min(bytes.size(), kKept)));
  bytes_.erase(0, bytes_.size() - std::min(bytes_.size(), kKept));
}

std::optional<std::string> why_file_ended(std::string_view end) {
  const std::string_view block = last_block(end);
  if (block.empty()) return "tributary-switchd was killed, or its packet loop does not answer";
  return reason_in(comment_of(block));
}

std::optional<std::string> why_text_ended(std::string_view end) {
  if (!end.ends_with('\n')) return std::nullopt;
  end.remove_suffix(1);
  return reason_in(end.substr(end.rfind('\n') + 1));
}

}  // namespace tributary::client
