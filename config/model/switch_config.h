// A switch's configuration: typed, checked, immutable after load. config/load/load.h fills it from
// YAML; tests fill it in code. Limits that several modules depend on are derived once, here.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/model/acl.h"
#include "config/model/host_choice.h"
#include "config/model/lldp.h"
#include "config/model/names.h"
#include "config/model/open_jobs.h"
#include "config/model/path_destination.h"
#include "config/model/port_storm.h"
#include "config/model/port_vlan.h"
#include "config/model/reserved_groups.h"
#include "config/model/route.h"
#include "config/model/snooping.h"
#include "config/model/straggler_policy.h"
#include "config/model/telemetry.h"
#include "core/net/frame.h"
#include "core/net/roce.h"
#include "core/time.h"
#include "core/wire/integrity.h"
#include "core/wire/types.h"

namespace tributary::config {

// Shard s of plane p of a job uses UDP port udp_base_port + p x shards + s.
inline constexpr std::uint16_t kDefaultUdpBasePort = 47000;
// Room in front of a payload: Ethernet, VLAN, IPv4, UDP, header, and 64 bytes of extensions.
inline constexpr std::size_t kFrameOverheadBytes =
    wire::kUdpPayloadOffset + wire::kVlanBytes + wire::kHeaderBytes + 64;
inline constexpr std::uint32_t kMaxWorkers = 1024;
inline constexpr std::uint32_t kMaxWindow = 4096;
inline constexpr std::uint32_t kMaxChunkBytes = 8192;
inline constexpr std::uint8_t kMaxShards = 16;  // of all planes of a job together: UDP ports
inline constexpr std::uint8_t kMaxPlanes = 16;
inline constexpr std::size_t kMaxReductions = 144;
inline constexpr int kMaxBracketDepth = 8;
inline constexpr std::size_t kMaxLcores = 16;  // packet loops
inline constexpr std::uint16_t kMaxQueues = 16;
inline constexpr std::size_t kMaxNameReaders = 16;
inline constexpr std::size_t kMaxPorts = 32;  // RTE_MAX_ETHPORTS of the DPDK we build with

struct PortConfig {
  std::string name;          // its name in `show` and metrics
  std::string devargs;       // any DPDK device, e.g. net_af_packet0,iface=ve0
  std::uint32_t mtu = 1500;  // largest IP packet; frames beyond it are dropped and counted
  PortVlan vlan = {};
  std::vector<PathDestination> paths = {};  // frames to these leave here, wherever they are
  PortStorm storm = {};
  std::uint32_t max_addresses = 0;         // that it may teach the FDB; 0: no limit
  bool rdma = false;                       // RoCEv2 to the switch is taken from here
  std::uint16_t queues = 1;                // pairs of a receive and a transmit queue
  std::vector<std::uint16_t> lcores = {};  // of each pair, its packet loop; none: in turn
  // If true, the switch does not start without it; else the port comes up once its device opens.
  bool required = true;
  // Not in files: the loop of the first pair, if a reload has kept or chosen it.
  std::optional<std::uint16_t> turn = std::nullopt;
};

struct MemberConfig {
  std::uint32_t rank = 0;
  std::string port;  // the rank may join through this port only

  bool operator==(const MemberConfig&) const = default;
};

// One child of a switch in a job that spans a tree: a worker, or a switch with workers below it.
struct ChildConfig {
  bool is_switch = false;
  std::uint32_t id = 0;              // rank, or the switch's id
  std::uint32_t ipv4 = 0;            // of a switch
  std::string port;                  // the only port it may join through; empty: any
  std::vector<std::uint32_t> ranks;  // inside, ascending; a worker's own rank

  bool operator==(const ChildConfig&) const = default;
};

// The switch to which this one sends its sums of a job.
struct ParentConfig {
  std::string name;
  std::uint32_t id = 0;
  std::uint32_t ipv4 = 0;
  wire::MacAddress mac{};    // zero: it is behind a router
  std::string uplink;        // own port that leads to it
  std::uint16_t child = 0;   // own index among the parent's children
  std::uint16_t fan_in = 0;  // children of the parent

  bool operator==(const ParentConfig&) const = default;
};

// For a switch that may be a completion host of a job (T10): the job's root. The way to it is the
// switch's uplink.
struct HostingConfig {
  std::uint32_t root_ipv4 = 0;
  wire::MacAddress root_mac{};  // zero: it is behind a router

  bool operator==(const HostingConfig&) const = default;
};

// An order with brackets: a rank, or items that are combined from left to right.
struct Bracket {
  std::vector<Bracket> items;  // empty: a rank
  std::uint32_t rank = 0;

  bool operator==(const Bracket&) const = default;
};

struct Reduction {
  wire::DType dtype = wire::DType::none;
  wire::ReduceOp op = wire::ReduceOp::sum;

  bool operator==(const Reduction&) const = default;
};

enum class Trigger : std::uint8_t { streaming, collect };   // T4
enum class SlotMode : std::uint8_t { partition, dynamic };  // O7
enum class Release : std::uint8_t { sent, returned };       // O9
enum class CollisionAction : std::uint8_t { report, act };  // O7
enum class OnDeadline : std::uint8_t { abort, escalate };   // T3

struct JobConfig {
  std::uint32_t id = 0;
  std::string name;
  std::uint32_t workers = 0;         // of the whole job; the most, where it may be resized
  std::uint32_t min_workers = 0;     // the fewest ranks that it runs with; 0: it is never resized
  std::uint32_t window = 64;         // chunks in flight per shard; power of two
  std::uint32_t chunk_bytes = 1024;  // largest payload; multiple of 8
  std::uint8_t shards = 1;
  Duration deadline = Duration::seconds(30);  // counted from a chunk's first contribution
  Duration lease = Duration::seconds(10);     // silence of a member that ends the epoch
  wire::Integrity integrity = wire::Integrity::udp_checksum;
  bool rdma = false;                   // ranks may come by RDMA, through ports that take it
  std::vector<MemberConfig> members;   // optional pinning of ranks to ports
  std::optional<std::uint16_t> lcore;  // its packet loop; none: see job_lcore()
  // Parts of the job's data, each with members, epochs, windows and a loop of its own: for its
  // loop, a plane is like a whole job.
  std::uint8_t planes = 1;
  std::vector<std::uint16_t> lcores;  // loop of each plane; none: in turn from the first plane's on
  std::uint8_t plane = 0;             // in a loop's part of the configuration: which plane it is

  wire::Order order = wire::Order::fast;
  std::optional<Bracket> bracketing;  // none: flat, by rank
  Trigger trigger = Trigger::streaming;
  wire::Partials partials = wire::Partials::wide;
  wire::Arithmetic arithmetic = wire::Arithmetic::saturating;
  std::vector<Reduction> reductions;  // none: all valid ones

  SlotMode slots = SlotMode::partition;
  std::uint32_t quota = 0;    // dynamic: most slots at once in a shard; 0: the window
  std::uint8_t priority = 0;  // dynamic: see preempt_idle
  Release release = Release::sent;
  bool verify = false;
  OnDeadline on_deadline = OnDeadline::escalate;
  Trigger completion_trigger = Trigger::collect;  // T16

  StragglerPolicy stragglers;
  JobTelemetry telemetry = {};
  JobNames names = {};

  // Nodes that finish escalated chunks, by name, in the order in which they replace each other:
  // names of CompletionConfig::hosts, and kRootHost. None: the root.
  std::vector<std::string> completion_hosts;
  HostChoice host_choice = HostChoice::fixed;
  wire::Notify notify = wire::Notify::root;  // T9

  // Set only in a tree (config/topology/topology.h derives both); empty for a single switch.
  std::vector<ChildConfig> children;   // by child index; none: every rank is a child
  std::optional<ParentConfig> parent;  // none: results are final here
  // Set if this switch is one of the job's completion hosts, but not its root.
  std::optional<HostingConfig> hosting;
  // The part of `bracketing` that this switch combines, over child indices; none: flat, by child.
  std::optional<Bracket> child_order;
  std::optional<wire::OpenJob> open = std::nullopt;  // a rank has opened it; not in files
  // A digest of the whole tree: two switches with different ones form no epoch (rule 16). 0: the
  // job has no tree.
  std::uint32_t tree_digest = 0;

  bool operator==(const JobConfig&) const = default;
};

struct MemoryConfig {
  bool hugepages = false;
  std::uint32_t megabytes = 256;               // DPDK's
  std::uint32_t aggregation_megabytes = 1024;  // limit of sums, results and their tables
  // Part of those for jobs that come later or grow. Reading a file fills it in; none: 0.
  std::optional<std::uint32_t> reserve_megabytes = {};
  std::uint32_t spare_queues = 0;  // pairs, for ports that a reload adds
};

// Results that every child has acknowledged, kept as long as there is room.
struct CacheConfig {
  std::uint32_t megabytes = 0;
};

// The switch itself, in a job's completion_hosts.
inline constexpr const char* kRootHost = "root";

// Another node to which the switch may escalate chunks: a parameter server, on a machine of its own
// or beside a worker, or a switch below.
struct CompletionHost {
  std::string name;
  std::uint32_t ipv4 = 0;
  std::string port;        // the only port it may be behind; empty: any
  std::uint32_t hops = 1;  // links on the way to it
  std::uint32_t cost = 1;  // cost of these links together
};

// The completion engines of the jobs whose root is this switch, and of jobs that it hosts for roots
// above.
struct CompletionConfig {
  std::uint32_t megabytes = 64;           // for jobs whose root it is
  Duration lease = Duration::seconds(1);  // silence of a host until the next one takes over
  std::vector<CompletionHost> hosts;
  std::uint32_t hosted_megabytes = 64;     // for jobs that it hosts for a root above
  Duration heartbeat = Duration::ms(100);  // interval of heartbeats to each of these roots
};

// IPv4 fragments to the switch itself are reassembled, and packets that it sends through a port
// with a smaller MTU are cut into fragments.
struct FragmentsConfig {
  std::uint32_t datagrams = 0;  // incomplete ones, for each pair of queues; 0: off
  Duration timeout = Duration::ms(100);
};
inline constexpr std::uint32_t kMaxDatagrams = 4096;

struct StaticMac {
  wire::MacAddress mac{};
  std::string port;
};

struct ForwardingConfig : ReservedGroups {
  std::uint32_t fdb_entries = 4096;  // learned addresses; power of two
  Duration fdb_ageing = Duration::seconds(300);
  std::vector<StaticMac> static_macs;
  SnoopingConfig snooping = {};
  LldpConfig lldp = {};
};

// One packet loop's part of the memory that several share (config/plan/lcore_plan.h).
struct LcoreShare {
  std::uint64_t cache_bytes = 0;
  std::uint64_t reserve_bytes = 0;
  std::uint64_t completion_bytes = 0;
  std::uint64_t hosted_bytes = 0;
  std::uint64_t names_bytes = 0;
  bool has_pool = false;  // of the dynamic jobs' slots
};

struct SwitchConfig {
  std::string name = "switch";
  std::uint32_t id = 0;                 // in its topology; 0: it is a single switch
  std::uint32_t ipv4 = 0;               // host order; workers send here
  std::optional<wire::MacAddress> mac;  // default: locally administered, derived from ipv4
  std::vector<RouteConfig> routes;      // to peers behind routers
  std::uint16_t udp_base_port = kDefaultUdpBasePort;
  std::uint32_t slots = 4096;  // per shard: partitions of the static jobs, pool of the dynamic
  Duration preempt_idle;       // a dynamic job's slot this long without a contribution may be
                               // taken by a job of no lower priority; 0: never
  bool preempt_busy = false;   // by one of higher priority at any time
  CollisionAction collisions = CollisionAction::report;  // what is done where they last
  int lcore = -1;                   // CPU of the only packet loop; -1: not pinned
  std::vector<int> lcores;          // CPU of each loop, where there are several; -1: not pinned
  std::optional<LcoreShare> share;  // set in the part of one of several loops
  Duration idle_sleep_max = Duration::us(200);
  Duration drain_time = Duration::seconds(10);  // until a drain is given up
  MemoryConfig memory;
  FragmentsConfig fragments = {};
  CompletionConfig completion;
  CacheConfig cache;
  TelemetryConfig telemetry = {};
  NamesConfig names = {};
  OpenJobsConfig open_jobs = {};
  std::vector<PortConfig> ports;
  std::vector<JobConfig> jobs;
  ForwardingConfig forwarding;
  AclConfig acl = {};
  std::string metrics_listen;  // host:port of the Prometheus endpoint; empty: none
  std::string control_socket;  // path of the unix socket for `show`; empty: none
};

// 239.195.0.0/16 (organisation-local scope, RFC 2365) plus the job's low 16 bits. Jobs of one
// switch must differ in those bits; the loader refuses a file in which they do not.
constexpr std::uint32_t job_group_ipv4(std::uint32_t job) {
  return 0xEFC30000u | (job & 0xFFFFu);
}

// 02:74 ("t") and the four address bytes.
constexpr wire::MacAddress derived_mac(std::uint32_t ipv4) {
  return {0x02,
          0x74,
          static_cast<std::uint8_t>(ipv4 >> 24),
          static_cast<std::uint8_t>(ipv4 >> 16),
          static_cast<std::uint8_t>(ipv4 >> 8),
          static_cast<std::uint8_t>(ipv4)};
}

// UDP ports that a job uses: one for each shard of each plane.
constexpr std::uint32_t udp_ports(const JobConfig& job) {
  return std::uint32_t{job.planes} * job.shards;
}

// The number of a job's children at a switch: each of its chunks waits for so many.
inline std::uint32_t job_fan_in(const JobConfig& job) {
  return job.children.empty() ? job.workers : static_cast<std::uint32_t>(job.children.size());
}

// True if this switch may host the completion engine of some job.
inline bool hosts_engines(const SwitchConfig& config) {
  return std::any_of(config.jobs.begin(), config.jobs.end(),
                     [](const JobConfig& job) { return job.hosting.has_value(); });
}
// The UDP port of these engines, to which their roots send: beyond the ports of any shard.
constexpr std::uint16_t hosting_udp_port(std::uint16_t udp_base_port) {
  return static_cast<std::uint16_t>(udp_base_port + kMaxShards);
}

// True if some job's ranks may come by RDMA.
inline bool takes_rdma(const SwitchConfig& config) {
  return std::any_of(config.jobs.begin(), config.jobs.end(),
                     [](const JobConfig& job) { return job.rdma; });
}

// True if packets of jobs may be longer than a port's MTU.
inline bool takes_fragments(const SwitchConfig& config) {
  return config.fragments.datagrams != 0;
}

// True if the job's ranks may agree on another number of ranks while it runs.
inline bool resizes(const JobConfig& job) {
  return job.min_workers != 0;
}

// True if other switches have a part in the job's sums.
inline bool spans_switches(const JobConfig& job) {
  return job.parent || std::any_of(job.children.begin(), job.children.end(),
                                   [](const ChildConfig& c) { return c.is_switch; });
}

// Whether a fixed-point sum of this job that overflows is asked for again as floating point
// (protocol rule 12).
inline bool retries_floats(const JobConfig& job) {
  const auto sums_floats = [](const Reduction& r) {
    return r.dtype == wire::DType::float32 && r.op == wire::ReduceOp::sum;
  };
  const bool admitted = job.reductions.empty() ||
                        std::any_of(job.reductions.begin(), job.reductions.end(), sums_floats);
  return admitted && job.arithmetic == wire::Arithmetic::saturating;
}

// Whether results of this job may do without ranks that are late (protocol rule 21).
inline bool degrades(const JobConfig& job) {
  return job.stragglers.degraded_after.has_value();
}

// Extensions beyond the 64 bytes that every packet may have: a sum to another switch or to a
// parameter server names the ranks inside (protocol rule 10), and a degraded result the missing
// ranks, besides all other extensions that describe it.
inline std::size_t coverage_bytes(const JobConfig& job) {
  constexpr std::size_t kUsual = 64;
  constexpr std::size_t kOthers = 20 + 8 + 8;         // task information, target rank, CRC32C
  const std::size_t counted = degrades(job) ? 4 : 0;  // beside the bitmap of missing ranks
  const std::size_t bitmap = 8 + (std::size_t{job.workers} + 31) / 32 * 4 + counted;
  const std::size_t all = (kOthers + bitmap + 7) / 8 * 8;
  const bool travels = spans_switches(job) || !job.completion_hosts.empty() || degrades(job);
  return travels && all > kUsual ? all - kUsual : 0;
}

// The largest frame that a job sends by UDP, which the mbuf data room must hold.
inline std::size_t job_frame_bytes(const JobConfig& job) {
  return kFrameOverheadBytes + coverage_bytes(job) + job.chunk_bytes;
}

// Bytes that RDMA adds to such a frame: headers, the lead of the payload, pad and checksum.
inline std::size_t rdma_bytes(const JobConfig& job) {
  return job.rdma ? wire::kUdOverheadBytes + wire::kRoceLeadBytes + 3 : 0;
}

}  // namespace tributary::config
