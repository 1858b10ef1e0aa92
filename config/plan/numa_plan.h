// Whose memory is where, on a machine with several sockets (NUMA nodes): the one place that says
// which sockets get a pool of packet buffers, how large each is, and who takes buffers from which.
//
//   receive queue   takes its buffers from its port's socket; where nobody knows that, its lcore's
//   lcore           takes what it makes itself (results, copies, datagrams) from its own
//   engines, tables are on the lcore's socket, too; they are no packet buffers
//
// A buffer goes back to the pool that it came from, whoever frees it, so a pool has to have what
// its queues need, and besides what others may hold of it: the caches of all lcores, rings between
// lcores, transmit queues that are slow to finish.
//
// There is one pool where one socket is in use, where memory is of no socket in particular (no
// hugepages), and where there is too little for several; a plan says so in its notes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "config/model/switch_config.h"

namespace tributary::config {

// Of something that nobody knows the socket of, or that is on several.
inline constexpr int kAnySocket = -1;

// By sockets, what the machine has; what is not listed is anywhere.
struct Machine {
  std::vector<int> lcores = {};   // packet loops
  std::vector<int> ports = {};    // by place
  std::vector<int> lacking = {};  // sockets whose memory was not enough for a pool
};
int lcore_socket(const Machine& machine, std::size_t lcore);
int port_socket(const Machine& machine, std::size_t place);

struct PlannedPool {
  int socket = kAnySocket;
  std::size_t least = 0;  // fewer starve somebody
  std::size_t wanted = 0;
  std::size_t buffers = 0;  // that it is to have, or has
};

struct NumaPlan {
  Machine machine;
  std::vector<PlannedPool> pools = {};  // by socket; at least one
  // Indices of pools.
  std::vector<std::size_t> of_lcore = {};
  std::vector<std::vector<std::size_t>> of_queue = {};  // by place and queue
  std::vector<std::string> notes = {};                  // what is not as one would wish
};

// Of a configuration that a switch starts with. Throws std::runtime_error when memory.megabytes
// does not even hold what one pool needs.
NumaPlan numa_plan(const SwitchConfig& config, const Machine& machine, std::size_t buffer_bytes);

// Of one that a reload brings: pools are as they are, and so are the queues of ports but those at
// `opened`. A port whose pool has no buffers to spare gets them from another, and a note says so.
// Throws std::invalid_argument, naming the socket, when some pool would be too small.
NumaPlan numa_change(const NumaPlan& running, const SwitchConfig& next, const Machine& machine,
                     const std::vector<std::uint16_t>& opened);

// What the users of each pool need, of the ports that are there: `least`, but for spare queues.
std::vector<std::size_t> pool_needs(const SwitchConfig& config, const NumaPlan& plan);

// Between these two, each frame crosses over from one socket to another.
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
// A line for people; what to do about it is in it.
std::string describe(const FarQueue& far, const SwitchConfig& config);

// "0", or "any".
std::string socket_name(int socket);
// A line for each pool.
std::string describe_pools(const NumaPlan& plan, std::size_t buffer_bytes);

}  // namespace tributary::config
