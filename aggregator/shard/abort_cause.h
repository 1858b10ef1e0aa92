// The cause of an epoch's end: all that an ABORT carries, and enough to inform a late member.
#pragma once

#include <cstdint>
#include <vector>

#include "core/wire/extension.h"
#include "core/wire/header.h"

namespace tributary::aggregator {

// Longer lists of missing ranks are cut here.
inline constexpr std::size_t kMaxListedIds = wire::kMaxMissingIds;

struct AbortCause {
  AbortCause() { missing.reserve(kMaxListedIds); }

  wire::Reason reason = wire::Reason::none;
  std::uint16_t epoch = 0;
  wire::Header chunk;  // op, chunk, seq and shard of the chunk concerned; otherwise zero
  std::vector<std::uint32_t> missing;  // ranks
  std::uint32_t lost_switch = 0;       // id of the lost switch; 0: none
  bool has_error = false;
  wire::OpError error;

  [[nodiscard]] std::size_t table_bytes() const {
    return missing.capacity() * sizeof(std::uint32_t);
  }
};

}  // namespace tributary::aggregator
