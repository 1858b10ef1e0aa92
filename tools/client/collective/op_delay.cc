#include "tools/client/collective/op_delay.h"

#include <array>
#include <charconv>
#include <chrono>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

#include "config/text/codec.h"

namespace tributary::client {
namespace {

constexpr Duration kLongest = Duration::seconds(3600);
constexpr std::uint32_t kMostEvery = 1'000'000;
constexpr std::size_t kMostText = 64;
constexpr std::string_view kEvery = " every ";

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) + 1 - first);
}

std::optional<std::uint32_t> every_of(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value >= 1 && value <= kMostEvery ? std::optional(value) : std::nullopt;
}

// The file's text now; empty where there is no file.
std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return {};
  std::array<char, kMostText + 1> text;
  file.read(text.data(), text.size());
  return {text.data(), static_cast<std::size_t>(file.gcount())};
}

}  // namespace

Lateness parse_lateness(std::string_view text) {
  const std::string_view words = trimmed(text);
  if (words.empty() || words == "off") return {};
  const std::size_t at = words.find(kEvery);
  const auto by = config::parse_duration(words.substr(0, at));
  const auto every = at == std::string_view::npos ? std::optional(std::uint32_t{1})
                                                  : every_of(words.substr(at + kEvery.size()));
  if (words.size() > kMostText || !by || *by > kLongest || !every)
    throw std::invalid_argument("delay '" + std::string(words.substr(0, kMostText)) +
                                "'; allowed: off, or a duration up to 1h such as 200ms, and "
                                "\"every N\" behind it with N from 1 to 1000000");
  return {*by, *every};
}

OpDelay::OpDelay(std::string_view text, std::string path)
    : fixed_(parse_lateness(text)), path_(text.empty() ? std::move(path) : std::string()) {}

Duration OpDelay::next() {
  Lateness now = fixed_;
  if (!path_.empty()) try {
      now = parse_lateness(text_of(path_));
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument(path_ + ": " + error.what());
    }
  return op_++ % now.every == 0 ? now.by : Duration();
}

void OpDelay::before_op() {
  if (const Duration wait = next(); wait > Duration())
    std::this_thread::sleep_for(std::chrono::nanoseconds(wait.to_ns()));
}

}  // namespace tributary::client
