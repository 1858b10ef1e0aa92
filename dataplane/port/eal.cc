#include "dataplane/port/eal.h"

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_version.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "config/plan/lcore_plan.h"
#include "config/plan/memory_plan.h"
#include "dataplane/frame/devargs.h"
#include "dataplane/frame/frame_pool.h"
#include "dataplane/host/run_directory.h"
#include "dataplane/host/xdp_umems.h"
#include "dataplane/port/machine.h"
#include "dataplane/port/memif_disconnect.h"
#include "dataplane/port/packet_sockets.h"

namespace tributary::dataplane {
namespace {

constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;

std::string cpu_set(const std::vector<int>& cpus) {
  std::string text(1, '(');
  for (const int cpu : cpus) {
    if (text.size() > 1) text += ',';
    text += std::to_string(cpu);
  }
  return text + ')';
}

bool any_pci(const config::SwitchConfig& config) {
  return std::any_of(config.ports.begin(), config.ports.end(),
                     [](const auto& port) { return parse_devargs(port.devargs).pci(); });
}

// "0@(0,1),1@0,2@1"
std::string lcore_map(const config::SwitchConfig& config, const std::string& everywhere) {
  std::string map("0@");
  map.append(everywhere);
  for (std::size_t i = 0; i < config::lcore_count(config); ++i) {
    const int cpu = config::lcore_cpu(config, i);
    map.append(",").append(std::to_string(kFirstWorkerLcore + i)).append("@");
    map.append(cpu >= 0 ? std::to_string(cpu) : everywhere);
  }
  return map;
}

// Memory per socket, if there are to be pools on several ones: what each pool needs, the rest in
// equal parts, and never more than is free, or DPDK would not start. A socket that is short of
// memory is reported when the pools are made.
std::vector<std::string> memory_arguments(const config::SwitchConfig& config,
                                          const EalEnvironment& environment) {
  const Sysfs sysfs(environment.sysfs);
  const std::size_t bytes = buffer_bytes(data_room(config));
  const config::NumaPlan plan =
      config::numa_plan(config, machine_before_dpdk(config, environment.cpus, sysfs), bytes);
  if (plan.pools.size() < 2) return {"-m", std::to_string(config.memory.megabytes)};
  std::vector<std::uint64_t> megabytes;
  std::uint64_t left = config.memory.megabytes;
  for (const config::PlannedPool& pool : plan.pools) {
    megabytes.resize(static_cast<std::size_t>(pool.socket) + 1);
    megabytes.back() = (pool.buffers * bytes + config::kRuntimeBytes + kMebibyte - 1) >> 20;
    left -= std::min(left, megabytes.back());
  }
  std::string list;
  for (std::size_t socket = 0; socket < megabytes.size(); ++socket) {
    if (megabytes[socket] != 0) megabytes[socket] += left / plan.pools.size();
    const auto there = sysfs.free_bytes(static_cast<int>(socket));
    if (there) megabytes[socket] = std::min(megabytes[socket], *there >> 20);
    list.append(socket == 0 ? "" : ",").append(std::to_string(megabytes[socket]));
  }
  return {"--socket-mem", list};
}

}  // namespace

EalEnvironment current_environment() {
  EalEnvironment out;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &set)) out.cpus.push_back(cpu);
  out.file_prefix = run_directory_name(getpid());
  return out;
}

std::vector<std::string> cpu_mistakes(const config::SwitchConfig& config,
                                      const EalEnvironment& environment) {
  std::vector<std::string> mistakes;
  for (std::size_t i = 0; i < config::lcore_count(config); ++i) {
    const int cpu = config::lcore_cpu(config, i);
    if (cpu < 0 ||
        std::find(environment.cpus.begin(), environment.cpus.end(), cpu) != environment.cpus.end())
      continue;
    std::string key = "switch.lcore";
    if (!config.lcores.empty()) key.append("s[").append(std::to_string(i)).append("]");
    mistakes.push_back(key + ": CPU " + std::to_string(cpu) + ": this process may run on CPUs " +
                       cpu_set(environment.cpus) + " only");
  }
  return mistakes;
}

std::vector<std::string> eal_arguments(const config::SwitchConfig& config,
                                       const EalEnvironment& environment) {
  const auto mistakes = cpu_mistakes(config, environment);
  if (!mistakes.empty()) throw std::runtime_error(mistakes.front());
  std::vector<std::string> args = {"tributary-switchd",
                                   "--lcores",
                                   lcore_map(config, cpu_set(environment.cpus)),
                                   "--file-prefix",
                                   environment.file_prefix,
                                   "--log-level",
                                   "*:" + environment.log_level};
  for (std::string& argument : memory_arguments(config, environment))
    args.push_back(std::move(argument));
  if (config.memory.hugepages) {
    args.emplace_back("--in-memory");             // no file outlives the process
    args.emplace_back("--single-file-segments");  // vhost-user peers map few, large regions
  } else {
    args.emplace_back("--no-huge");
    args.emplace_back("--no-shconf");  // all that --in-memory means here; EAL refuses the pair
  }
  // Those of the ports; DPDK would take all that it may open.
  for (const auto& port : config.ports)
    if (parse_devargs(port.devargs).pci()) args.insert(args.end(), {"-a", port.devargs});
  if (!any_pci(config)) {
    args.emplace_back("--no-pci");
    args.emplace_back("--iova-mode=va");
  }
  return args;
}

Eal::Eal(const std::vector<std::string>& arguments) {
  std::vector<std::string> storage = arguments;
  std::vector<char*> argv;
  for (auto& argument : storage) argv.push_back(argument.data());
  argv.push_back(nullptr);
  // Before DPDK's own exit handler, which unlinks the telemetry socket, so that it runs after.
  std::atexit(remove_run_directory);
  disconnect_after_bursts();
  correct_packet_sockets();
  intercept_xdp_umems();
  check_run_directory(run_directory_parent());
  if (rte_eal_init(static_cast<int>(storage.size()), argv.data()) < 0) {
    const int error = rte_errno;
    std::string command;
    for (const auto& argument : arguments) command += " " + argument;
    throw std::runtime_error(std::string("DPDK did not start: ") + rte_strerror(error) +
                             "; lower memory.megabytes, or reserve that many hugepages if "
                             "memory.hugepages is true; arguments were:" +
                             command);
  }
  remove_stale_run_directories(std::filesystem::path(rte_eal_get_runtime_dir()).parent_path());
}

// No rte_eal_cleanup(): it unmaps memory that the interrupt thread may be using at that moment, for
// a memif that just lost its peer, and there is no way to stop that thread first (DPDK 22.11). The
// kernel takes everything back when the process ends.
Eal::~Eal() = default;

const char* dpdk_version() {
  return rte_version();
}

}  // namespace tributary::dataplane
