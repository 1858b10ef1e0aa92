// Jobs of a switch with two packet loops, and their ranks, for tests of who does what.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/dataplane/test_packet_loop.h"

namespace tributary::dataplane {

// Lcore 0 has ports 0 and 2, lcore 1 has ports 1 and 3; even jobs are lcore 0's, odd ones 1's.
inline config::SwitchConfig two_lcores(std::size_t ports = 4) {
  auto config = test_config(ports);
  config.lcores = {-1, -1};
  return config;
}

inline config::JobConfig job_of(std::uint32_t id) {
  config::JobConfig job;
  job.id = id;
  job.name = "job" + std::to_string(id);
  job.workers = 2;
  job.window = 8;
  job.chunk_bytes = 64;
  return job;
}

// A plane for each of these lcores.
inline config::JobConfig planes_of(std::uint32_t id, std::vector<std::uint16_t> lcores) {
  config::JobConfig job = job_of(id);
  job.planes = static_cast<std::uint8_t>(lcores.size());
  job.lcores = std::move(lcores);
  return job;
}

// A job's two ranks behind ports 0 and 1, so that one lcore or the other has to hand over.
class JobRanks {
 public:
  JobRanks(RingSwitch& sw, std::uint32_t job, std::uint8_t plane = 0) : sw_(sw) {
    for (std::uint32_t rank = 0; rank < 2; ++rank)
      ranks_.emplace_back(sw.config(), job, rank, std::uint16_t{2}).plane = plane;
  }

  // Two turns of each: one that hands over, one that sends what comes back.
  void settle() {
    for (int i = 0; i < 3; ++i) sw_.turn();
  }
  // Each time as another incarnation.
  bool join() {
    ++joins_;
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      ranks_[rank].epoch = 0;
      sw_.inject(rank, ranks_[rank].join(100 * joins_ + rank));
    }
    settle();
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      const auto start = last_of(rank);
      if (!start || start->first.type != wire::PacketType::start) return false;
      ranks_[rank].epoch = start->first.epoch;
    }
    return true;
  }
  void contribute(std::uint32_t seq) {
    sw_.inject(0, ranks_[0].contribution(seq, std::array{1, -2, 3}));
    sw_.inject(1, ranks_[1].contribution(seq, std::array{10, 20, 30}));
    settle();
  }
  // The last message that the rank got: header and payload.
  std::optional<std::pair<wire::Header, Bytes>> last_of(std::size_t rank) {
    std::optional<std::pair<wire::Header, Bytes>> out;
    for (const auto& frame : sw_.sent(rank))
      if (const auto packet = read_packet(frame))
        out.emplace(packet->packet.header,
                    Bytes(packet->packet.payload.begin(), packet->packet.payload.end()));
    return out;
  }
  TestWorker& operator[](std::size_t rank) { return ranks_[rank]; }

 private:
  RingSwitch& sw_;
  std::uint32_t joins_ = 0;
  std::vector<TestWorker> ranks_;
};

}  // namespace tributary::dataplane
