// The DPDK environment of this process: built from the configuration, one per process.
//
// EAL's lcore 0 is the thread that constructs Eal (main(), which then only waits), those from
// kFirstWorkerLcore on run the packet loops, which users know as lcore 0, 1... None polls unless a
// loop is launched on it.
#pragma once

#include <string>
#include <vector>

#include "config/model/switch_config.h"

namespace tributary::dataplane {

inline constexpr unsigned kFirstWorkerLcore = 1;

// Inputs of the arguments besides the configuration.
struct EalEnvironment {
  std::vector<int> cpus;            // that this process may run on
  std::string file_prefix;          // unique among running DPDK processes
  std::string log_level = "error";  // of DPDK's libraries and drivers
  std::string sysfs = "/sys";       // where the kernel says what is on which socket
};
EalEnvironment current_environment();

// CPUs that the configuration names and this process may not use; one line each. The one mistake of
// a file that only the machine knows.
std::vector<std::string> cpu_mistakes(const config::SwitchConfig& config,
                                      const EalEnvironment& environment);

// Throws std::runtime_error with the first of those.
std::vector<std::string> eal_arguments(const config::SwitchConfig& config,
                                       const EalEnvironment& environment);

class Eal {
 public:
  // Throws std::runtime_error that says what to change.
  explicit Eal(const std::vector<std::string>& arguments);
  ~Eal();
  Eal(const Eal&) = delete;
  Eal& operator=(const Eal&) = delete;
};

const char* dpdk_version();

}  // namespace tributary::dataplane
