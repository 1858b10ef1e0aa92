#include "tools/agentd/pods/host.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <thread>

namespace tributary::agentd {
namespace {

std::string text_of(const char* path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

CpuTimes parse_cpu_times(std::string_view stat) {
  std::istringstream line{std::string(stat.substr(0, stat.find('\n')))};
  std::string name;
  line >> name;
  CpuTimes times;
  if (name != "cpu") return times;
  // user nice system idle iowait irq softirq steal; guests are in user already.
  std::uint64_t value = 0;
  for (int column = 0; column < 8 && line >> value; ++column) {
    times.all += value;
    if (column != 3 && column != 4) times.busy += value;
  }
  return times;
}

double cpu_load(const CpuTimes& before, const CpuTimes& now) {
  if (now.all <= before.all || now.busy < before.busy) return 0;
  return std::min(
      1.0, static_cast<double>(now.busy - before.busy) / static_cast<double>(now.all - before.all));
}

std::uint64_t parse_memory_total(std::string_view meminfo) {
  std::istringstream text{std::string(meminfo)};
  std::string key;
  std::uint64_t kib = 0;
  return text >> key >> kib && key == "MemTotal:" ? kib * 1024 : 0;
}

Host::Host()
    : cpu_millis_(std::max(1u, std::thread::hardware_concurrency()) * 1000ull),
      memory_bytes_(parse_memory_total(text_of("/proc/meminfo"))),
      boot_(text_of("/proc/sys/kernel/random/boot_id")),
      last_(parse_cpu_times(text_of("/proc/stat"))) {
  while (!boot_.empty() && boot_.back() == '\n') boot_.pop_back();
}

double Host::load() {
  const CpuTimes now = parse_cpu_times(text_of("/proc/stat"));
  const double load = cpu_load(last_, now);
  last_ = now;
  return load;
}

}  // namespace tributary::agentd
