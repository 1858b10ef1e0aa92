// The rules for an aggregation engine's messages, by the plainest means: which chunk has which
// ranks' data, and the exact int32 sum of it. Fed with every packet that went in and all that came
// out.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <vector>

#include "aggregator/engine/engine.h"

namespace tributary::fuzz {

class EngineModel {
 public:
  explicit EngineModel(const aggregator::Engine& engine);

  // After Engine::on_packet(). `out` holds what it wants sent.
  void after_packet(const wire::Packet& packet, aggregator::Decision decision,
                    const aggregator::Outbox& out);
  // After Engine::expire() or shut_down().
  void after_expiry(const aggregator::Outbox& out);
  // Everything that holds between any two calls.
  void check(Instant now) const;

  // 0 while no epoch runs.
  [[nodiscard]] std::uint16_t epoch(std::size_t job) const { return jobs_[job].epoch; }

 private:
  struct Chunk {
    std::set<std::uint32_t> ranks;
    bool exact = false;  // int32 and sum: the sum is checked
    std::vector<std::uint32_t> sum;
    bool complete = false;
    std::vector<std::byte> result;
  };
  using ChunkKey = std::pair<std::uint8_t, std::uint32_t>;  // shard, seq
  struct JobModel {
    std::uint16_t epoch = 0;
    std::map<ChunkKey, Chunk> chunks;
    std::uint64_t contributions = 0;
    std::uint64_t completions = 0;
  };

  JobModel* find(std::uint32_t job_id);
  void contribution(JobModel& job, std::size_t index, const wire::Packet& packet,
                    aggregator::Decision decision);
  void sent(const aggregator::Outbox& out);
  void result(JobModel& job, std::size_t index, const aggregator::Outgoing& message);

  const aggregator::Engine& engine_;
  std::vector<JobModel> jobs_;
};

}  // namespace tributary::fuzz
