// This machine's CPUs and memory, from /proc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tributary::agentd {

struct CpuTimes {
  std::uint64_t busy = 0;
  std::uint64_t all = 0;
};
// The first line of /proc/stat; zeroes for other text.
CpuTimes parse_cpu_times(std::string_view stat);
// Used share between two moments; 0 where nothing has passed.
double cpu_load(const CpuTimes& before, const CpuTimes& now);
// MemTotal of /proc/meminfo; 0 for other text.
std::uint64_t parse_memory_total(std::string_view meminfo);

class Host {
 public:
  Host();
  [[nodiscard]] std::uint64_t cpu_millis() const { return cpu_millis_; }
  [[nodiscard]] std::uint64_t memory_bytes() const { return memory_bytes_; }
  [[nodiscard]] const std::string& boot() const { return boot_; }
  // Since the call before.
  double load();

 private:
  std::uint64_t cpu_millis_;
  std::uint64_t memory_bytes_;
  std::string boot_;
  CpuTimes last_;
};

}  // namespace tributary::agentd
