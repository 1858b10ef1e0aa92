// The switch's UD queue pairs: one for each job that takes RDMA, of which the number follows from
// the job's. Any rank of the job sends to it, and hears from it.
//
// All memory is taken at construction. One thread owns it: a packet loop, each of which has its
// own; other threads read counters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "aggregator/chunk/job_index.h"
#include "config/model/switch_config.h"
#include "core/counter.h"
#include "core/net/roce.h"

namespace tributary::dataplane {

struct QueuePair {
  std::uint32_t qpn = 0;
  std::uint32_t job = 0;
  std::uint32_t workers = 0;
  bool crc32c = false;
  struct Counters {
    Counter received;
    Counter received_bytes;  // payloads of SENDs
    Counter sent;
    Counter sent_bytes;
  };
  Counters counters;
};

class QueuePairs {
 public:
  explicit QueuePairs(const config::SwitchConfig& config);
  QueuePairs(QueuePairs&&) = default;
  QueuePairs& operator=(QueuePairs&&) = default;

  // Heap bytes, as the configuration says; and as they are.
  static std::size_t table_bytes(const config::SwitchConfig& config);
  [[nodiscard]] std::size_t table_bytes() const {
    return pairs_.capacity() * sizeof(QueuePair) + by_number_.table_bytes();
  }

  [[nodiscard]] bool empty() const { return pairs_.empty(); }
  [[nodiscard]] std::span<const QueuePair> all() const { return pairs_; }
  // nullptr: there is none.
  [[nodiscard]] QueuePair* find(std::uint32_t qpn) const { return by_number_.find(qpn); }
  [[nodiscard]] QueuePair* of_job(std::uint32_t job) const {
    QueuePair* const pair = find(wire::job_qpn(job));
    return pair != nullptr && pair->job == job ? pair : nullptr;
  }
  // Takes over the counters of pairs that are in both.
  void adopt(const QueuePairs& before);

 private:
  std::vector<QueuePair> pairs_;  // stays where it is: the index points into it
  aggregator::JobIndex<QueuePair> by_number_;
};

}  // namespace tributary::dataplane
