// Congestion marks (rule 15): a result tells of every mark that all copies of some data had at a
// switch, unless data was sent again, and ranks that are equally far have the same window.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "aggregator/chunk/verdict.h"
#include "sim/rules/checked_run.h"

namespace tributary::sim {

class CongestionChecker {
 public:
  explicit CongestionChecker(CheckedRun& run);

  // A switch's engine has judged a packet that is honest and intact.
  void packet_judged(const SwitchNode& node, const wire::Packet& packet,
                     aggregator::Decision decision);
  // A result is on its way to ranks, from this switch or server.
  void check_result(const std::string& node, const wire::Header& result);
  // A rank took a result of this shard, and may have moved on.
  void check_window(const WorkerNode& node, std::uint8_t shard);
  // The same, as the rank's session says: chunks under way from `lowest` on, at most.
  void check_window(const WorkerNode& node, const ChunkKey& lowest, std::uint32_t chunks);
  void epoch_started(std::uint32_t job);

 private:
  // Data that a switch took: whose.
  struct Piece {
    std::uint32_t node = 0;
    std::vector<std::uint64_t> ranks;
    auto operator<=>(const Piece&) const = default;
  };
  // The op that data asks for, as far as ranks that agree ask for the same.
  struct Asked {
    wire::Collective collective{};
    wire::DType dtype{};
    wire::ReduceOp reduce_op{};
    bool operator==(const Asked&) const = default;
  };
  // Congestion marks on a chunk's data, until its result is made.
  struct Marks {
    std::optional<Asked> asked;    // by the first of it
    bool unclear = false;          // some was sent again: marks may be lost; or asks for another op
    bool decided = false;          // its result is made,
    bool due = false;              // and has to tell of a mark
    std::map<Piece, bool> pieces;  // was each copy marked?
  };

  [[nodiscard]] static Piece piece_of(const SwitchNode& node, const wire::Packet& packet);

  CheckedRun& run_;
  bool marks_happen_ = false;
  std::map<ChunkKey, Marks> marks_;
  std::map<ChunkKey, std::uint32_t> windows_;  // by the lowest seq under way
};

}  // namespace tributary::sim
