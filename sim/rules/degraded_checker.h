// Results that lack ranks (rule 21): only where the job allows it, after the wait that it allows,
// with one list for all, and made of exactly the ranks that the list does not name.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/rules/checked_run.h"

namespace tributary::sim {

class DegradedChecker {
 public:
  // By chunk number: the ranks that its result lacks.
  using MissingByChunk = std::map<std::uint32_t, std::span<const std::uint64_t>>;

  explicit DegradedChecker(CheckedRun& run);

  // A rank sends this contribution.
  void contribution_sent(const WorkerNode& node, const FrameRef& frame);
  void contribution_sent(std::uint32_t job_index, std::uint32_t rank, const wire::Header& header);
  // A result is on its way to ranks, from this switch or server.
  void check_result(const std::string& node, const aggregator::Outgoing& result);

  // As this rank has the op's chunks: where there are several of a number, those that it sent.
  [[nodiscard]] MissingByChunk missing_of(std::uint32_t job_index, std::uint32_t epoch,
                                          std::uint32_t op, std::uint32_t rank) const;
  // The mistake in the list that a rank is told with an op whose chunks lack these; nullopt: none.
  [[nodiscard]] std::optional<std::string> wrong_list(std::uint32_t job_index,
                                                      const MissingByChunk& missing,
                                                      const OpResult& result) const;

 private:
  // Identifies a chunk also for ranks that disagree, which may have it in another place than the
  // rest.
  struct OpChunk {
    std::uint32_t epoch, op, chunk, seq;
    auto operator<=>(const OpChunk&) const = default;
  };
  // When ranks first sent a chunk, and who its result was said to lack.
  struct Waited {
    std::vector<std::optional<Instant>> sent;  // by rank
    std::optional<std::vector<std::uint64_t>> missing;
  };
  struct JobWaits {
    std::map<OpChunk, Waited> chunks;  // of a job whose results may lack ranks
    std::vector<bool> cut_off;         // by rank: a switch above it loses power
  };

  void check_wait(const JobScenario& job, const JobWaits& waits, const wire::Header& result,
                  const Waited& chunk);

  CheckedRun& run_;
  bool punctual_ = false;       // packets arrive, and soon
  std::vector<JobWaits> jobs_;  // by job index
};

}  // namespace tributary::sim
