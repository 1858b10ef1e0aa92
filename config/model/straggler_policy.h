// Which of a switch's children are to be excluded for having been late before (T12, T13), and
// whether results may do without those that are late now (T9, T16).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/time.h"

namespace tributary::config {

enum class ExcludeBy : std::uint8_t { none, largest, threshold };
enum class Combine : std::uint8_t { mean, maximum };

struct StragglerPolicy {
  ExcludeBy exclude = ExcludeBy::none;
  std::uint32_t ops = 8;                        // K, over which lateness is combined
  Combine combine = Combine::mean;              // into one figure a child
  std::uint32_t most = 1;                       // largest: so many at once
  Duration threshold = Duration::ms(100);       // threshold: those strictly above it
  Duration recovered_below = Duration::ms(10);  // lateness of a child that is well again ...
  std::uint32_t recovered_ops = 8;              // ... when it was so in as many ops in a row
  // So long chunks wait at the completion host, which then finishes them without the ranks that are
  // missing (protocol rule 21). None: it waits for all.
  std::optional<Duration> degraded_after;

  bool operator==(const StragglerPolicy&) const = default;
};

struct PolicyMistake {
  const char* key;
  std::string text;  // what is wrong, and what is allowed
};
// Of keys that do not go together, or say nothing.
std::optional<PolicyMistake> mistake_in(const StragglerPolicy& policy);

}  // namespace tributary::config
