// A loader's metrics: text for Prometheus, and a file for node_exporter's textfile collector.
//
//   FOLDER/tributary-pool-NAME-N.prom     the metrics of one process, replaced as a whole
//   FOLDER/.tributary-pool-NAME-N.lock    locked while that process lives
//
// N is the lowest number that no running process of the pool holds. The next process takes over the
// number and the file of one that has ended, so files and series do not accumulate, and the last
// values stay until then. The kernel drops the lock with the last process that inherited it: a
// child of a fork that outlives its parent keeps the parent's number, and takes another for its own
// metrics.
//
// For one thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "core/log_histogram.h"
#include "pool/loader/load_counters.h"

namespace tributary::pool {

class LoaderMetrics {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kInterval{1};

  // folder: of the file; empty: there is none.
  LoaderMetrics(std::string pool, std::string folder);
  ~LoaderMetrics();
  LoaderMetrics(const LoaderMetrics&) = delete;
  LoaderMetrics& operator=(const LoaderMetrics&) = delete;

  void add_batch(std::uint64_t took_ns) { batch_times_.add(took_ns); }
  // In Prometheus' text format.
  [[nodiscard]] std::string text(const LoadCounters& counters) const;
  // Writes the file. A file that cannot be written is left as it is, and tried again next time: a
  // load does not fail for its metrics.
  void write(const LoadCounters& counters) noexcept;
  // The same if the last attempt was at least kInterval before `now`.
  void write_if_due(const LoadCounters& counters, Clock::time_point now) noexcept;

  // Throws std::runtime_error if this process cannot make files in the folder.
  static void check_folder(const std::string& folder);

 private:
  // Bounds are powers of two, 66 us to 17 s; ns.
  using BatchTimes = LogHistogram<16, 20>;

  [[nodiscard]] std::string text(const LoadCounters& counters, const std::string& labels) const;
  [[nodiscard]] std::string path(const char* prefix, const char* ending) const;
  bool take_number();
  void replace_file(const LoadCounters& counters);

  const std::string pool_;
  const std::string folder_;
  BatchTimes batch_times_;
  Clock::time_point next_write_{};
  int lock_ = -1;        // open while number_ is held
  unsigned number_ = 0;  // among the pool's processes that load on this machine
};

}  // namespace tributary::pool
