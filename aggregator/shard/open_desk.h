// Where JOINs for unknown jobs wait until a control thread decides about the jobs that they open
// (A4), and what it has said.
//
//   packet loop ── ask() ──▶ requests ── take() ──▶ control thread, which adds the job
//                  ◀── refusal ──────── refuse() ──┘
//
// JOINs are repeated, so a loop never waits: where the other side is busy, or there is no room, the
// next JOIN asks again. Bounded, without allocation on the side of the loop. Any number of loops.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "aggregator/shard/join_refusal.h"
#include "config/model/open_jobs.h"
#include "core/counter.h"
#include "core/time.h"
#include "core/wire/open_job.h"

namespace tributary::aggregator {

struct OpenRequest {
  std::uint32_t job = 0;
  wire::OpenJob task;
  std::uint16_t node = 0;    // that is at this switch, or below the one that asks
  bool from_switch = false;  // of the tree, which then is:
  std::uint32_t switch_id = 0;
  std::uint32_t switch_ipv4 = 0;

  bool operator==(const OpenRequest&) const = default;
};

class OpenDesk {
 public:
  static constexpr std::size_t kMost = 64;  // requests, and refusals
  static constexpr Duration kRefusalLasts = Duration::seconds(2);

  // A loop: why the job is not opened, or none: it may be, and its JOIN is to be repeated.
  JoinRefusal ask(const OpenRequest& request);
  // True for ids of jobs that may be opened.
  [[nodiscard]] bool opens(std::uint32_t job) const {
    return first_.load(std::memory_order_relaxed) <= job &&
           job <= last_.load(std::memory_order_relaxed);
  }

  // The control thread. No ids: nothing is opened.
  void allow(const config::JobIds& ids);
  // The requests since the last call; forgets refusals that are old.
  std::vector<OpenRequest> take(Instant now);
  // The answer to those who ask for this job with this task, for a while.
  void refuse(const OpenRequest& request, const JoinRefusal& why, Instant now);

  // Written by the control thread; read by any.
  struct Counters {
    Counter opened;
    Counter refused;
    Counter expired;
  };
  Counters counters;

 private:
  struct Refusal {
    std::uint32_t job = 0;
    wire::OpenJob task;
    JoinRefusal why;
    Instant until;
  };

  std::atomic<std::uint32_t> first_{1};
  std::atomic<std::uint32_t> last_{0};
  std::atomic_flag busy_;
  std::array<OpenRequest, kMost> requests_;
  std::size_t waiting_ = 0;
  std::array<Refusal, kMost> refusals_;
  std::size_t refused_ = 0;
};

}  // namespace tributary::aggregator
