// Which of a switch's children are excluded for having been late (T12, T13), and whether results
// may do without ranks that are late now (T9, T16).
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
  std::uint32_t ops = 8;                        // K: lateness is combined over so many ops
  Combine combine = Combine::mean;              // into one figure a child
  std::uint32_t most = 1;                       // largest: at most so many at once
  Duration threshold = Duration::ms(100);       // threshold: children strictly above it
  Duration recovered_below = Duration::ms(10);  // lateness of a child that has recovered ...
  std::uint32_t recovered_ops = 8;              // ... if it was so low in as many ops in a row
  // After so long a wait at the completion host, a chunk is finished without the missing ranks
  // (protocol rule 21). None: it waits for all ranks.
  std::optional<Duration> degraded_after;

  bool operator==(const StragglerPolicy&) const = default;
};

struct PolicyMistake {
  const char* key;
  std::string text;  // the mistake, and what is allowed
};
// Keys that contradict each other, or have no effect.
std::optional<PolicyMistake> mistake_in(const StragglerPolicy& policy);

}  // namespace tributary::config
