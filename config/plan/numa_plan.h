// Assigns memory on a machine with several sockets (NUMA nodes): the one place that decides which
// sockets get a pool of packet buffers, how large each is, and which queues and lcores use which.
//
//   receive queue   takes buffers from its port's socket; if that is unknown, from its lcore's
//   lcore           takes buffers for its own frames (results, copies, datagrams) from its own
//   engines, tables are on the lcore's socket, too; they use no packet buffers
//
// A buffer goes back to the pool that it came from, whichever lcore frees it. So a pool must have
// the buffers that its queues need, and those that may be held elsewhere: in the caches of all
// lcores, in rings between lcores, in transmit queues that are slow to finish.
//
// There is one pool if one socket is in use, if memory belongs to no particular socket (no
// hugepages), or if there is too little for several; a plan says so in its notes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "config/model/switch_config.h"

namespace tributary::config {

// Stands for an unknown socket, or for several.
inline constexpr int kAnySocket = -1;

// The machine's lcores and ports by socket; a missing entry counts as kAnySocket.
struct Machine {
  std::vector<int> lcores = {};   // packet loops
  std::vector<int> ports = {};    // by place
  std::vector<int> lacking = {};  // sockets without enough memory for a pool
};
int lcore_socket(const Machine& machine, std::size_t lcore);
int port_socket(const Machine& machine, std::size_t place);

struct PlannedPool {
  int socket = kAnySocket;
  std::size_t least = 0;  // with fewer, some user starves
  std::size_t wanted = 0;
  std::size_t buffers = 0;  // that it will have, or has
};

struct NumaPlan {
  Machine machine;
  std::vector<PlannedPool> pools = {};  // by socket; at least one
  // Indices of pools.
  std::vector<std::size_t> of_lcore = {};
  std::vector<std::vector<std::size_t>> of_queue = {};  // by place and queue
  std::vector<std::string> notes = {};                  // deviations from the ideal plan
};

// The plan of a configuration at a switch's start. Throws std::runtime_error when memory.megabytes
// does not even hold the need of one pool.
NumaPlan numa_plan(const SwitchConfig& config, const Machine& machine, std::size_t buffer_bytes);

// The plan after a reload: pools stay as they are, and so do the queues of ports except those at
// `opened`. A port whose pool has no spare buffers gets them from another, and a note says so.
// Throws std::invalid_argument, naming the socket, when some pool would be too small.
NumaPlan numa_change(const NumaPlan& running, const SwitchConfig& next, const Machine& machine,
                     const std::vector<std::uint16_t>& opened);

// The need of each pool's users at the present ports: `least`, without spare queues.
std::vector<std::size_t> pool_needs(const SwitchConfig& config, const NumaPlan& plan);

// True if each frame between these two crosses from one socket to another.
constexpr bool is_far(int port, int lcore) {
  return port != kAnySocket && lcore != kAnySocket && port != lcore;
}
// A queue whose lcore is on another socket than its port.
struct FarQueue {
  std::uint16_t port = 0;  // its place
  std::uint16_t queue = 0;
  std::uint16_t lcore = 0;
  int port_socket = kAnySocket;
  int lcore_socket = kAnySocket;

  bool operator==(const FarQueue&) const = default;
};
std::vector<FarQueue> far_queues(const SwitchConfig& config, const Machine& machine);
// A line for the operator, which also says what to do about it.
std::string describe(const FarQueue& far, const SwitchConfig& config);

// "0", or "any".
std::string socket_name(int socket);
// A line for each pool.
std::string describe_pools(const NumaPlan& plan, std::size_t buffer_bytes);

}  // namespace tributary::config
