// Agreement of ranks on how many they will be (docs/protocol/resize.md): a maximum over all ranks
// shows every rank the same, so all go on alike.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace tributary::worker {

// A rank's contribution to the maximum: the largest size and, negated, the smallest one, each with
// a rank that wants it; then the least that its switch allows and, negated, the most.
using SizeVote = std::array<std::int64_t, 4>;
SizeVote vote_for_size(std::uint32_t size, std::uint32_t rank, std::uint32_t least,
                       std::uint32_t most);

// The maximum's meaning, equal on all ranks.
struct SizeVerdict {
  bool agreed = false;     // and possible
  std::string impossible;  // why the job cannot have that size
  std::string differ;      // what the ranks want, with an example of each
  std::vector<std::uint32_t> ranks;
};
SizeVerdict verdict_of(const SizeVote& maximum, std::uint32_t wanted, std::uint32_t size,
                       std::uint32_t job);

}  // namespace tributary::worker
