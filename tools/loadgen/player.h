// One worker of one job, played: the library's protocol engine with known data instead of an
// application, faults on demand, and a check of every result.
//
//   issue() ─▶ session ─▶ batch ─▶ pattern written into the frame ─▶ (lost, doubled, falsified) ─▶
//   sink result  ─▶ (lost) ─▶ session ─▶ taken? ─▶ compared with the known sum, timed from its
//   first send
//
// The session's copies of an op's data are never looked at: contributions are made as they are
// sent, results compared as they arrive. So all ops of all players share one piece of memory.
//
// Pure: no clock, no I/O.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/net/frame.h"
#include "core/prng.h"
#include "core/time.h"
#include "tools/loadgen/histogram.h"
#include "tools/loadgen/traffic/frame_sink.h"
#include "tools/loadgen/traffic/pattern.h"
#include "worker/session/session.h"

namespace tributary::loadgen {

// Shares of packets, in parts per million.
struct Faults {
  std::uint32_t lose_ppm = 0;       // packets that are sent, and results that arrive
  std::uint32_t duplicate_ppm = 0;  // packets that are sent
  std::uint32_t garbage_ppm = 0;    // contributions that a damaged one is sent beside
  std::uint32_t falsify_ppm = 0;    // contributions with wrong data: the check fails
};

struct PlayerOptions {
  worker::SessionOptions session;
  std::uint32_t own_ipv4 = 0;
  std::uint32_t switch_ipv4 = 0;
  wire::MacAddress own_mac{};
  wire::MacAddress switch_mac{};
  std::uint16_t base_port = 0;    // for JOIN; START says the rest
  std::uint32_t chunk_bytes = 0;  // as configured; START must say the same
  std::uint32_t op_chunks = 0;
  std::uint32_t open_ops = 0;    // most at once
  std::span<std::byte> scratch;  // op_chunks × chunk_bytes, shared
  Faults faults;
  std::uint64_t seed = 0;
};

struct PlayerCounts {
  std::uint64_t verified = 0;  // results that are the sum of all ranks
  std::uint64_t verified_bytes = 0;
  std::uint64_t warm_up_verified = 0;  // of those, before what is measured
  std::uint64_t warm_up_bytes = 0;
  std::uint64_t wrong = 0;
  std::uint64_t degraded = 0;   // lack ranks, and say so
  std::uint64_t lost_sent = 0;  // on purpose, as all below
  std::uint64_t lost_received = 0;
  std::uint64_t duplicated = 0;
  std::uint64_t garbage = 0;
  std::uint64_t falsified = 0;
  std::uint64_t no_buffer = 0;  // not sent, as no buffer was large enough: as if lost
};

class Player {
 public:
  Player(const PlayerOptions& options, const Pattern& pattern, Instant now);
  Player(const Player&) = delete;
  Player& operator=(const Player&) = delete;

  [[nodiscard]] const PlayerOptions& options() const { return options_; }
  [[nodiscard]] worker::SessionState state() const { return session_.state(); }
  [[nodiscard]] const worker::SessionCounters& session_counters() const {
    return session_.counters();
  }
  [[nodiscard]] const PlayerCounts& counts() const { return counts_; }
  [[nodiscard]] const Histogram& latencies() const { return latencies_; }
  // The measurement begins now.
  void warmed_up() {
    latencies_ = {};
    counts_.warm_up_verified = counts_.verified;
    counts_.warm_up_bytes = counts_.verified_bytes;
  }
  // The first failure of the job or an op, and the first result that was wrong; else empty.
  [[nodiscard]] const std::string& failure() const { return failure_; }
  [[nodiscard]] const std::string& first_wrong() const { return first_wrong_; }

  [[nodiscard]] std::uint64_t issued() const { return issued_; }
  [[nodiscard]] std::uint64_t finished() const { return finished_; }
  [[nodiscard]] bool can_issue() const {
    return state() == worker::SessionState::running && !free_.empty();
  }
  void issue(Instant now);

  // Intact and for this job and rank, or for all ranks of the job.
  void on_packet(const wire::Packet& packet, Instant now);
  // True when something was sent, or waits for room in the sink.
  bool poll(Instant now, FrameSink& out);
  // Then poll() until state() is left.
  void leave(Instant now);

 private:
  void start();
  void take_finished();
  void note_result(const wire::Packet& packet, Instant now);
  // Both false where there is no room.
  bool send(const worker::Datagram& d, const worker::SendBatch::Tag& tag, Instant now,
            FrameSink& out);
  static bool copy_frame(std::span<const std::byte> frame, FrameSink& out);

  PlayerOptions options_;
  const Pattern& pattern_;
  worker::Session session_;
  worker::SendBatch batch_;
  Prng random_;
  Instant wakeup_;  // nothing to do before
  bool udp_checksum_ = true;
  std::uint16_t base_port_;
  std::uint32_t window_ = 0;  // from START on
  bool leaving_ = false;
  std::vector<worker::Op> ops_;
  std::vector<worker::Op*> free_;
  std::vector<Instant> sent_;     // first, by shard and seq modulo window
  std::vector<std::byte> frame_;  // a frame that is sent again, or damaged
  std::uint64_t issued_ = 0;
  std::uint64_t finished_ = 0;
  PlayerCounts counts_;
  Histogram latencies_;
  std::string failure_;
  std::string first_wrong_;
};

}  // namespace tributary::loadgen
