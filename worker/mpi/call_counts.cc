#include "worker/mpi/call_counts.h"

#include <charconv>

namespace tributary::mpi {
namespace {

constexpr std::string_view kAnnounced = "tributary: rank 0: counting the calls of ";
constexpr std::string_view kCounted = "tributary: rank 0: calls of ";
constexpr std::string_view kSender = "tributary: rank 0: ";
constexpr std::string_view kBetween = " ranks, switch/MPI: ";
constexpr std::string_view kNone = "none";

// The text without its beginning; false where it begins otherwise.
bool skip(std::string_view& text, std::string_view beginning) {
  if (!text.starts_with(beginning)) return false;
  text.remove_prefix(beginning.size());
  return true;
}

bool take(std::string_view& text, std::uint64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

// "allreduce 36/12"
bool take(std::string_view& text, CallCounts& counts) {
  for (std::size_t k = 0; k < kKinds; ++k)
    if (skip(text, std::string(name_of(static_cast<Kind>(k))) + " "))
      return take(text, counts.to_switch[k]) && skip(text, "/") && take(text, counts.to_mpi[k]);
  return false;
}

}  // namespace

std::string counting_text(std::uint64_t ranks) {
  return std::string(kAnnounced.substr(kSender.size())) + std::to_string(ranks) + " ranks";
}

std::string counts_text(const CallCounts& counts) {
  std::string list;
  for (std::size_t k = 0; k < kKinds; ++k) {
    if (counts.to_switch[k] + counts.to_mpi[k] == 0) continue;
    list += (list.empty() ? "" : ", ") + std::string(name_of(static_cast<Kind>(k))) + " " +
            std::to_string(counts.to_switch[k]) + "/" + std::to_string(counts.to_mpi[k]);
  }
  return std::string(kCounted.substr(kSender.size())) + std::to_string(counts.ranks) +
         std::string(kBetween) + (list.empty() ? std::string(kNone) : list);
}

bool announces_counts(std::string_view line) {
  return line.find(kAnnounced) != std::string_view::npos;
}

std::optional<CallCounts> read_counts(std::string_view line) {
  const std::size_t start = line.find(kCounted);
  if (start == std::string_view::npos) return std::nullopt;
  line.remove_prefix(start + kCounted.size());
  CallCounts counts;
  if (!take(line, counts.ranks) || !skip(line, kBetween)) return std::nullopt;
  if (skip(line, kNone)) return counts;
  do {
    if (!take(line, counts)) return std::nullopt;
  } while (skip(line, ", "));
  return counts;
}

}  // namespace tributary::mpi
