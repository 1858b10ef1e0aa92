// The extension "drain": word of an epoch that ends after an op that all ranks finish, and of the
// epoch that follows it (docs/protocol/drains.md). In LEASE, JOIN and a switch's LEAVE.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/op_number.h"
#include "core/wire/extension.h"

namespace tributary::wire {

enum class DrainStep : std::uint16_t {
  able = 1,    // JOIN: the sender can take part in a drain
  wanted = 2,  // LEASE, up: a switch below the root wants one, or the ranks of a job do
  ask = 3,     // LEASE, down: begin no further op, and say which is the first not begun
  answer = 4,  // LEASE, up: `op` is the first that no rank below has begun
  refuse = 5,  // LEASE, up: a rank cannot go on in another epoch
  end = 6,     // LEASE, down: the epoch has the ops before `op`, and ends
  resume = 7,  // JOIN and LEAVE: the sender has all results before `op`, and goes on from there
};

// In place of a switch's id: the ranks want it, to be more or fewer (docs/protocol/resize.md).
inline constexpr std::uint32_t kByRanks = 0xFFFFFFFF;

struct Drain {
  DrainStep step = DrainStep::able;
  std::uint64_t id = 0;  // which drain; drawn by the root
  std::uint32_t op = 0;
  std::uint32_t by = 0;  // id of the switch that wants it, or kByRanks
  bool operator==(const Drain&) const = default;
};

// The point from which ranks go on: equal at all children of an epoch that forms. The drain and
// their first op; or, where the epoch before ended unannounced, the ranks' common past and kNoOp:
// they find out themselves which ops they have (docs/protocol/retry.md). Id 0: they begin anew.
struct Resumption {
  std::uint64_t id = 0;
  std::uint32_t op = 0;
  bool operator==(const Resumption&) const = default;
  [[nodiscard]] bool resumes() const { return id != 0; }
  [[nodiscard]] bool retries() const { return id != 0 && op == kNoOp; }
};

bool add_drain(ExtensionWriter& extensions, const Drain& drain);
// Its step may be one that has no meaning.
std::optional<Drain> find_drain(std::span<const std::byte> area);
// The step resume of a JOIN or LEAVE; id 0 if it has another one, or none.
Resumption find_resumption(std::span<const std::byte> area);

}  // namespace tributary::wire
