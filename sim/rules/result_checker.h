// Chunk results on their way to ranks, from switches and servers: there is one for each chunk
// (rule 5), and a job that verifies its results gets no other.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "sim/rules/checked_run.h"

namespace tributary::sim {

class ResultChecker {
 public:
  explicit ResultChecker(CheckedRun& run) : run_(run) {}

  void check_result(const std::string& node, const aggregator::Outgoing& result);
  void epoch_started() { hashes_.clear(); }

 private:
  CheckedRun& run_;
  std::map<ChunkKey, std::uint64_t> hashes_;
};

}  // namespace tributary::sim
