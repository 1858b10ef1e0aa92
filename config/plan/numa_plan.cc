#include "config/plan/numa_plan.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <stdexcept>

#include "config/plan/lcore_plan.h"
#include "config/plan/memory_plan.h"
#include "config/plan/own_buffers.h"
#include "core/invariant.h"

namespace tributary::config {
namespace {

// For each pair of queues; with more, buffers would only spread over more of the CPU's cache.
constexpr std::size_t kWantedPerQueue = 2048;

bool is_among(const std::vector<int>& sockets, int socket) {
  return std::find(sockets.begin(), sockets.end(), socket) != sockets.end();
}

std::string listed(const std::vector<PlannedPool>& pools) {
  std::string text;
  for (std::size_t i = 0; i < pools.size(); ++i) {
    if (i > 0) text += i + 1 == pools.size() ? " and " : ", ";
    text += socket_name(pools[i].socket);
  }
  return text;
}

// Sockets that may have a pool: those of ports and lcores.
std::vector<PlannedPool> pools_in_use(const SwitchConfig& config, const Machine& machine) {
  std::vector<int> sockets;
  for (std::size_t lcore = 0; lcore < lcore_count(config); ++lcore)
    sockets.push_back(lcore_socket(machine, lcore));
  for (std::size_t place = 0; place < config.ports.size(); ++place)
    sockets.push_back(port_socket(machine, place));
  std::sort(sockets.begin(), sockets.end());
  sockets.erase(std::unique(sockets.begin(), sockets.end()), sockets.end());
  std::vector<PlannedPool> pools;
  for (const int socket : sockets)
    if (socket != kAnySocket && !is_among(machine.lacking, socket)) pools.push_back({socket});
  return pools;
}

// The pool on the first of these sockets that has one; the first pool if none has.
std::size_t pool_at(const std::vector<PlannedPool>& pools, std::initializer_list<int> sockets) {
  for (const int socket : sockets)
    for (std::size_t i = 0; i < pools.size(); ++i)
      if (pools[i].socket == socket) return i;
  return 0;
}

std::size_t pool_of(const NumaPlan& plan, const QueuePlace& queue) {
  return pool_at(plan.pools,
                 {port_socket(plan.machine, queue.port), lcore_socket(plan.machine, queue.lcore)});
}

// Assigns pools to lcores and queues.
void assign(NumaPlan& plan, const SwitchConfig& config) {
  plan.of_lcore.clear();
  for (std::size_t lcore = 0; lcore < lcore_count(config); ++lcore)
    plan.of_lcore.push_back(pool_at(plan.pools, {lcore_socket(plan.machine, lcore)}));
  plan.of_queue.assign(config.ports.size(), {});
  for (const QueuePlace& queue : queue_places(config))
    plan.of_queue[queue.port].push_back(pool_of(plan, queue));
}

void size_up(NumaPlan& plan, const SwitchConfig& config) {
  const std::vector<std::size_t> needs = pool_needs(config, plan);
  const std::size_t spare = config.memory.spare_queues;
  std::vector<std::size_t> queues(plan.pools.size(), spare);
  for (const auto& of_port : plan.of_queue)
    for (const std::size_t pool : of_port) ++queues[pool];
  for (std::size_t i = 0; i < plan.pools.size(); ++i) {
    // A reload's ports may be on any socket, even all on one.
    plan.pools[i].least = needs[i] + spare * least_buffers_per_queue(config);
    plan.pools[i].wanted =
        plan.pools[i].least + queues[i] * (kWantedPerQueue - kLeastBuffersPerQueue);
  }
}

template <typename Member>
std::size_t sum(const NumaPlan& plan, Member member) {
  std::size_t all = 0;
  for (const PlannedPool& pool : plan.pools) all += pool.*member;
  return all;
}

// The buffers that memory.megabytes allows, less DPDK's own memory on each socket, and less those
// of ports with pools of their own.
std::size_t budget(const NumaPlan& plan, const SwitchConfig& config, std::size_t buffer_bytes) {
  const std::uint64_t memory = std::uint64_t{config.memory.megabytes} << 20;
  const std::uint64_t others =
      plan.pools.size() * kRuntimeBytes + own_buffers(config) * kOwnBufferBytes;
  return memory > others ? (memory - others) / buffer_bytes : 0;
}

std::uint64_t megabytes_for(const NumaPlan& plan, const SwitchConfig& config,
                            std::size_t buffer_bytes) {
  const std::uint64_t bytes = sum(plan, &PlannedPool::least) * buffer_bytes +
                              own_buffers(config) * kOwnBufferBytes +
                              plan.pools.size() * kRuntimeBytes;
  return (bytes >> 20) + 1;
}

void fill(NumaPlan& plan, std::size_t budget) {
  std::vector<Demand> demands;
  for (const PlannedPool& pool : plan.pools) demands.push_back({pool.least, pool.wanted});
  for (std::size_t i = 0; i < plan.pools.size(); ++i)
    plan.pools[i].buffers = share_of(budget, demands, demands[i]);
  TRIBUTARY_INVARIANT(sum(plan, &PlannedPool::buffers) <= budget);
}

// The socket on which most queues would have their pool.
PlannedPool most_used(const NumaPlan& plan) {
  std::vector<std::size_t> queues(plan.pools.size());
  for (const auto& of_port : plan.of_queue)
    for (const std::size_t pool : of_port) ++queues[pool];
  const auto most = std::max_element(queues.begin(), queues.end());
  return {plan.pools[static_cast<std::size_t>(most - queues.begin())].socket};
}

void refuse(const NumaPlan& plan, const SwitchConfig& config, std::size_t buffer_bytes) {
  const std::size_t pages = own_buffers(config);
  const std::string own = pages == 0 ? "" : ", and " + std::to_string(pages) + " of a page for XDP";
  throw std::runtime_error("memory.megabytes: " + std::to_string(config.ports.size()) +
                           " ports need " + std::to_string(plan.pools[0].least) +
                           " packet buffers, " + std::to_string(buffer_bytes) + " bytes each" +
                           own + "; write at least " +
                           std::to_string(megabytes_for(plan, config, buffer_bytes)));
}

// The first pool from which the configuration's ports need more than it has; nullopt if none.
std::optional<std::size_t> short_pool(const SwitchConfig& config, const NumaPlan& plan) {
  const std::vector<std::size_t> needs = pool_needs(config, plan);
  for (std::size_t i = 0; i < needs.size(); ++i)
    if (needs[i] > plan.pools[i].buffers) return i;
  return std::nullopt;
}

// Assigns pools to the queues of a port; one pool for all if theirs have no spare buffers.
// `so_far`: the ports that already have pools, and this one.
void assign_port(NumaPlan& plan, const SwitchConfig& so_far, std::uint16_t place) {
  auto& of_port = plan.of_queue[place];
  for (const QueuePlace& queue : queue_places(so_far))
    if (queue.port == place) of_port.push_back(pool_of(plan, queue));
  const std::vector<std::size_t> wish = of_port;
  const auto lacks = short_pool(so_far, plan);
  if (!lacks) return;
  for (std::size_t other = 0; other < plan.pools.size(); ++other) {
    of_port.assign(wish.size(), other);
    if (of_port == wish || short_pool(so_far, plan)) continue;
    plan.notes.push_back("port " + so_far.ports[place].name + ": the pool of socket " +
                         socket_name(plan.pools[*lacks].socket) +
                         " has no buffers to spare; the port's are on socket " +
                         socket_name(plan.pools[other].socket));
    return;
  }
  of_port = wish;
}

}  // namespace

int lcore_socket(const Machine& machine, std::size_t lcore) {
  return lcore < machine.lcores.size() ? machine.lcores[lcore] : kAnySocket;
}
int port_socket(const Machine& machine, std::size_t place) {
  return place < machine.ports.size() ? machine.ports[place] : kAnySocket;
}

// The need of each pool, as buffers_in_need() of memory_plan.h computes it.
std::vector<std::size_t> pool_needs(const SwitchConfig& config, const NumaPlan& plan) {
  const std::size_t lcores = lcore_count(config);
  std::vector<std::size_t> needs(plan.pools.size(), lcores * kSharedBuffers);
  // The pools whose frames an lcore may hand to other lcores: its own, and those of its queues.
  std::vector<std::vector<bool>> gives(plan.pools.size(), std::vector<bool>(lcores));
  for (std::size_t lcore = 0; lcore < lcores; ++lcore) gives[plan.of_lcore[lcore]][lcore] = true;
  for (const QueuePlace& queue : queue_places(config)) {
    const std::size_t own = plan.of_queue[queue.port][queue.queue];
    gives[own][queue.lcore] = true;
    for (std::size_t i = 0; i < needs.size(); ++i)
      needs[i] += i == own ? kLeastBuffersPerQueue : kTransmitQueueBuffers;
    needs[plan.of_lcore[queue.lcore]] += config.fragments.datagrams;
  }
  for (std::size_t i = 0; i < needs.size(); ++i)
    for (std::size_t lcore = 0; lcore < lcores; ++lcore)
      if (gives[i][lcore]) needs[i] += handover_buffers(config, lcore);
  return needs;
}

NumaPlan numa_plan(const SwitchConfig& config, const Machine& machine, std::size_t buffer_bytes) {
  NumaPlan plan{.machine = machine, .pools = pools_in_use(config, machine)};
  if (plan.pools.size() > 1 && !config.memory.hugepages) {
    plan.notes.push_back(
        "switch.memory.hugepages is false, so memory is of no socket in "
        "particular: one pool of buffers for sockets " +
        listed(plan.pools));
    plan.pools.clear();
  }
  if (plan.pools.empty()) plan.pools.push_back({});
  assign(plan, config);
  size_up(plan, config);
  if (plan.pools.size() > 1 &&
      sum(plan, &PlannedPool::least) > budget(plan, config, buffer_bytes)) {
    const PlannedPool one = most_used(plan);
    plan.notes.push_back("switch.memory.megabytes: pools of buffers on sockets " +
                         listed(plan.pools) + " want " +
                         std::to_string(megabytes_for(plan, config, buffer_bytes)) + " and got " +
                         std::to_string(config.memory.megabytes) + "; there is one, on socket " +
                         socket_name(one.socket));
    plan.pools = {one};
    assign(plan, config);
    size_up(plan, config);
  }
  if (plan.pools[0].least > budget(plan, config, buffer_bytes) && plan.pools.size() == 1)
    refuse(plan, config, buffer_bytes);
  fill(plan, budget(plan, config, buffer_bytes));
  return plan;
}

NumaPlan numa_change(const NumaPlan& running, const SwitchConfig& next, const Machine& machine,
                     const std::vector<std::uint16_t>& opened) {
  NumaPlan plan = running;
  plan.machine = machine;
  plan.notes.clear();
  plan.of_queue.resize(next.ports.size());
  for (std::size_t place = 0; place < next.ports.size(); ++place)
    if (next.ports[place].queues == 0) plan.of_queue[place].clear();
  for (const std::uint16_t place : opened) plan.of_queue[place].clear();

  SwitchConfig so_far = next;
  for (const std::uint16_t place : opened) so_far.ports[place].queues = 0;
  for (const std::uint16_t place : opened) {
    so_far.ports[place].queues = next.ports[place].queues;
    assign_port(plan, so_far, place);
  }
  if (const auto pool = short_pool(next, plan))
    throw std::invalid_argument(
        "the running switch cannot take this configuration:\nports: the pool on socket " +
        socket_name(plan.pools[*pool].socket) + " needs " +
        std::to_string(pool_needs(next, plan)[*pool]) + " packet buffers; since the start it has " +
        std::to_string(plan.pools[*pool].buffers) +
        "; switch.memory.spare_queues reserves them for ports that come later");
  return plan;
}

std::vector<FarQueue> far_queues(const SwitchConfig& config, const Machine& machine) {
  std::vector<FarQueue> far;
  for (const QueuePlace& queue : queue_places(config)) {
    const int port = port_socket(machine, queue.port);
    const int lcore = lcore_socket(machine, queue.lcore);
    if (is_far(port, lcore)) far.push_back({queue.port, queue.queue, queue.lcore, port, lcore});
  }
  return far;
}

std::string describe(const FarQueue& far, const SwitchConfig& config) {
  return "port " + config.ports[far.port].name + " is on socket " + socket_name(far.port_socket) +
         ", and lcore " + std::to_string(far.lcore) + ", which polls its queue " +
         std::to_string(far.queue) + ", on socket " + socket_name(far.lcore_socket) +
         "; ports[].lcores names others, switch.lcores puts them on CPUs";
}

std::string socket_name(int socket) {
  return socket == kAnySocket ? "any" : std::to_string(socket);
}

std::string describe_pools(const NumaPlan& plan, std::size_t buffer_bytes) {
  std::string text;
  for (const PlannedPool& pool : plan.pools) {
    std::array<char, 32> mebibytes{};
    std::snprintf(mebibytes.data(), mebibytes.size(), "%.1f",
                  static_cast<double>(pool.buffers * buffer_bytes) / (1 << 20));
    text += "packet buffers on socket " + socket_name(pool.socket) + ": " +
            std::to_string(pool.buffers) + ", " + mebibytes.data() + " MiB\n";
  }
  return text;
}

}  // namespace tributary::config
