// One line for each key: name, member, allowed values, meaning.
#include "config/schema/schema.h"

#include <array>

#include "config/plan/auto_planes.h"
#include "config/schema/schema_acl.h"
#include "config/schema/schema_forwarding.h"
#include "config/schema/schema_hosts.h"
#include "config/schema/schema_names.h"
#include "config/schema/schema_open.h"
#include "config/schema/schema_stragglers.h"
#include "config/schema/schema_sums.h"
#include "config/schema/schema_telemetry.h"

namespace tributary::config {
namespace {

using enum Presence;

const Fields<PortConfig>& port_fields() {
  static const Fields<PortConfig> fields = {
      scalar("name", &PortConfig::name, identifier(),
             "Name of the port in `show` and the metrics; unique.", required),
      scalar(
          "devargs", &PortConfig::devargs, devargs(),
          "Any DPDK device, in DPDK's own syntax. Each device once, and what it takes for itself.",
          required),
      scalar("mtu", &PortConfig::mtu, integer<std::uint32_t>(kMinMtu, kMaxMtu),
             "Largest IP packet in bytes; frames beyond it are dropped and counted."),
      mapping<PortConfig, PortVlan>(
          "vlan", [](auto& p) -> auto& { return p.vlan; }, port_vlan_fields(),
          "VLANs that the port carries, and in which form."),
      scalars("paths", &PortConfig::paths, path_destination(), 0, kMaxPortPaths,
              "Destinations whose frames leave through the port, whatever the switch has learned: "
              "pinned paths of other traffic than jobs'. Of several prefixes the longest counts, "
              "and a MAC address before all of them."),
      mapping<PortConfig, PortStorm>(
          "storm", [](auto& p) -> auto& { return p.storm; }, port_storm_fields(),
          "Storm control: frames that the port may have flooded, a second. A tenth of a second's "
          "worth, and 32 at least, may come at once; what exceeds that is dropped and counted. "
          "Where "
          "several lcores poll the port, each has that limit."),
      scalar("max_addresses", &PortConfig::max_addresses, integer<std::uint32_t>(0, 1 << 20),
             "Addresses that the switch may learn behind the port; frames from further ones are "
             "still forwarded. 0: no limit."),
      scalar("rdma", &PortConfig::rdma, boolean(),
             "Whether ranks behind the port may reach the switch by RoCEv2, in jobs with `rdma: "
             "true` (docs/rdma.md). RoCEv2 to other hosts is switched in any case."),
      scalar("queues", &PortConfig::queues, integer<std::uint16_t>(1, kMaxQueues),
             "Pairs of a receive and a transmit queue that the device is set up with. It must have "
             "as many, and spreads what it receives over them as it can."),
      scalars("lcores", &PortConfig::lcores, integer<std::uint16_t>(0, kMaxLcores - 1), 0,
              kMaxQueues,
              "For each pair of queues the lcore that polls and sends: an index into "
              "`switch.lcores`. Left out: all queues of all such ports in turn, 0, 1, 2..."),
      scalar(
          "required", &PortConfig::required, boolean(),
          "Whether the switch refuses to start when the port's device cannot be opened. `false`: "
          "it starts, says so, and opens the port when its interface is there."),
  };
  return fields;
}

// The number that `auto` stands for is chosen when the whole file has been read.
Codec<std::uint8_t> planes() {
  Codec<std::uint8_t> codec = integer<std::uint8_t>(1, kMaxPlanes, ", or auto");
  codec.parse = [number = codec.parse](const Node& node, std::uint8_t& out) {
    if (node.text != "auto") return number(node, out);
    out = kAutoPlanes;
    return std::optional<std::string>();
  };
  codec.format = [number = codec.format](const std::uint8_t& value) {
    return value == kAutoPlanes ? "auto" : number(value);
  };
  return codec;
}

Field<JobConfig> planes_field() {
  Field<JobConfig> field = scalar(
      "planes", &JobConfig::planes, planes(),
      "Parts into which the job's data is cut so that several lcores work on it, one for each "
      "plane. At most as many as there are lcores, and planes x shards at most 16. `auto`: one for "
      "each of `lcores`, or of the switch's, as far as shards leave UDP ports; 1 with `lcore`, "
      "`slots: dynamic`, `rdma` or completion hosts elsewhere.");
  field.describe = [describe = field.describe](const std::string& path,
                                               std::vector<KeyInfo>& keys) {
    describe(path, keys);
    keys.back().fallback = "auto";
  };
  return field;
}

const Fields<MemberConfig>& member_fields() {
  static const Fields<MemberConfig> fields = {
      scalar("rank", &MemberConfig::rank, integer<std::uint32_t>(0, kMaxWorkers - 1),
             "A rank of the job, each at most once, below `workers`.", required),
      scalar("port", &MemberConfig::port, identifier(),
             "Name of the only port through which the rank may join.", required),
  };
  return fields;
}

Fields<JobConfig> membership_fields() {
  return {
      scalar("id", &JobConfig::id, integer<std::uint32_t>(1, 0xFFFFFFFF),
             "The job number that workers join. Jobs of a switch must differ in the low 16 bits, "
             "which choose the multicast group of the results.",
             required),
      scalar("name", &JobConfig::name, identifier(),
             "Name of the job in `show` and the metrics; unique. Left out: `job-` and the id."),
      scalar("workers", &JobConfig::workers, integer<std::uint32_t>(1, kMaxWorkers),
             "How many ranks, 0 to workers - 1, each sum is made of (the fan-in).", required),
      scalar("min_workers", &JobConfig::min_workers, integer<std::uint32_t>(0, kMaxWorkers),
             "Not 0: the ranks choose how many they are, from this number up to `workers`, when "
             "they join and by `resize` while the job runs."),
      scalar("window", &JobConfig::window, power_of_two<std::uint32_t>(1, kMaxWindow),
             "Chunks that a worker may have in flight in each shard. The windows of all static "
             "jobs together must fit `switch.slots`, and every dynamic job's what they leave."),
      scalar("chunk_bytes", &JobConfig::chunk_bytes,
             multiple_of<std::uint32_t>(8, 8, kMaxChunkBytes),
             "Payload bytes of a chunk, a packet's worth. With 146 bytes of headers and extensions "
             "it must fit the MTU of every port that the job may use, unless `switch.fragments` "
             "lets packets be cut."),
      scalar("shards", &JobConfig::shards, integer<std::uint8_t>(1, kMaxShards),
             "Independent parts with a UDP port and a window each."),
      scalar(
          "deadline", &JobConfig::deadline,
          duration(kMinDeadline, Duration::seconds(3600), Duration::ms(1)),
          "From a chunk's first contribution until the switch gives the chunk up (on_deadline). At "
          "least ten retransmission timers (10 x 20ms), so that loss can be repaired."),
      scalar("lease", &JobConfig::lease,
             duration(kMinLease, Duration::seconds(3600), Duration::ms(1)),
             "Silence of a worker after which it counts as dead. Workers that have nothing to send "
             "say so every third of it."),
      scalar(
          "integrity", &JobConfig::integrity, integrity(),
          "Integrity check of every packet: the UDP checksum, or a CRC32C extension. Workers at "
          "memif ports have neither, as nothing is sent there; `always`: they have the checksum, "
          "too."),
      scalar("rdma", &JobConfig::rdma, boolean(),
             "Whether ranks may take part by RoCEv2, through ports with `rdma: true`, beside those "
             "that use UDP (docs/rdma.md). A chunk's packet must fit the path MTU of RDMA."),
      list("members", &JobConfig::members, member_fields(), 0, kMaxWorkers,
           "Ties ranks to ports. Ranks not listed may join through any port."),
      scalar("lcore", &JobConfig::lcore,
             or_absent(integer<std::uint16_t>(0, static_cast<std::uint16_t>(kMaxLcores - 1))),
             "The lcore that does all work for the job: an index into `switch.lcores`. Left out: "
             "`id` modulo the number of lcores; 0 for a dynamic job, since all of these share one "
             "pool of slots and belong to one lcore."),
      planes_field(),
      scalars(
          "lcores", &JobConfig::lcores, integer<std::uint16_t>(0, kMaxLcores - 1), 0, kMaxPlanes,
          "The lcore of each plane, all different; not together with `lcore`. Left out: that of "
          "`lcore`, and those that follow it."),
      mapping<JobConfig, StragglerPolicy>(
          "stragglers", [](auto& j) -> auto& { return j.stragglers; }, straggler_fields(),
          "How the switch treats children that are late again and again."),
      mapping<JobConfig, JobTelemetry>(
          "telemetry", [](auto& j) -> auto& { return j.telemetry; }, job_telemetry_fields(),
          "In-band telemetry of the job's packets, at switches that have `switch.telemetry`."),
      mapping<JobConfig, JobNames>(
          "names", [](auto& j) -> auto& { return j.names; }, job_names_fields(),
          "Data by name (docs/names.md)."),
  };
}

const Fields<JobConfig>& job_fields() {
  static const Fields<JobConfig> fields = [] {
    Fields<JobConfig> all = membership_fields();
    for (auto& field : job_host_fields()) all.push_back(std::move(field));
    for (auto& field : sum_fields()) all.push_back(std::move(field));
    return all;
  }();
  return fields;
}

const Fields<MemoryConfig>& memory_fields() {
  static const Fields<MemoryConfig> fields = {
      scalar("hugepages", &MemoryConfig::hugepages, boolean(),
             "Take memory from hugepages, which must be reserved. Off: ordinary pages."),
      scalar("megabytes", &MemoryConfig::megabytes, integer<std::uint32_t>(32, 1 << 20),
             "Memory that DPDK reserves at start for packet buffers, in MiB; on several sockets, "
             "the sum over all."),
      scalar("aggregation_megabytes", &MemoryConfig::aggregation_megabytes,
             integer<std::uint32_t>(1, 1 << 20),
             "Most that sums, results and their tables may take, in MiB; reserved at start, on top "
             "of `megabytes`. `--check` prints how much the jobs need."),
      scalar("reserve_megabytes", &MemoryConfig::reserve_megabytes,
             or_absent(integer<std::uint32_t>(0, 1 << 20)),
             "Part of `aggregation_megabytes` that is reserved at start for jobs that come later "
             "or grow, in MiB. Left out: 32, and at most 1/32 of `aggregation_megabytes`. "
             "0: later jobs have only the memory of those that go."),
      scalar("spare_queues", &MemoryConfig::spare_queues,
             integer<std::uint32_t>(0, kMaxPorts * kMaxQueues),
             "Pairs of queues of ports that a reload may add, for which packet buffers are "
             "reserved at start, beside those of the file's ports. 0: added ports share the "
             "buffers of the others, as long as each pair has the least that it needs."),
  };
  return fields;
}

const Fields<FragmentsConfig>& fragments_fields() {
  static const Fields<FragmentsConfig> fields = {
      scalar("datagrams", &FragmentsConfig::datagrams, integer<std::uint32_t>(0, kMaxDatagrams),
             "Datagrams that each pair of queues of a port may be putting together at once; a "
             "packet buffer each, reserved at start. A worker has up to `window` x `shards` of "
             "them on the way. 0: fragments to the switch are dropped, and it sends none."),
      scalar("timeout", &FragmentsConfig::timeout, duration(Duration::ms(1), Duration::seconds(30)),
             "Time from a datagram's first fragment until it is given up for want of the rest."),
  };
  return fields;
}

const Fields<SwitchConfig>& switch_fields() {
  static const Fields<SwitchConfig> fields = {
      scalar("name", &SwitchConfig::name, identifier(), "Name of the switch."),
      scalar("address", &SwitchConfig::ipv4, host_ipv4(),
             "The IPv4 address that workers send to. The switch answers ARP for it on every port.",
             required),
      scalar("mac", &SwitchConfig::mac, or_absent(unicast_mac()),
             "The switch's own MAC address. Left out: 02:74 and the four bytes of `address`."),
      list("routes", &SwitchConfig::routes, route_fields(), 0, kMaxRoutes,
           "Peers behind routers: switches above and below, ranks, completion hosts. Without "
           "routes, all peers are on the link."),
      scalar("udp_base_port", &SwitchConfig::udp_base_port, integer<std::uint16_t>(1024, 65535),
             "Shard s of plane p of a job uses UDP port udp_base_port + p x shards + s; 4791 "
             "(RoCEv2) may not be among them."),
      scalar("slots", &SwitchConfig::slots, integer<std::uint32_t>(1, 1 << 20),
             "Aggregation slots of each shard: partitions of the static jobs, and the rest is "
             "shared by the dynamic ones."),
      scalar("preempt_idle", &SwitchConfig::preempt_idle,
             duration(Duration::us(0), Duration::seconds(3600)),
             "A slot of a dynamic job that got no contribution for this long may be taken by "
             "another job of the same or a higher priority. 0s: never for that reason."),
      scalar("preempt_busy", &SwitchConfig::preempt_busy, boolean(),
             "A job of higher priority may take slots of dynamic jobs that do get contributions, "
             "too."),
      choice("collisions", &SwitchConfig::collisions,
             {{"report", CollisionAction::report}, {"act", CollisionAction::act}},
             "The answer to dynamic jobs that keep finding each other's slots taken. report: an "
             "event names the remedy. act: the switch carries it out, one job at a time, as "
             "`tributary set` would: a partition for a job where the pool holds all windows, else "
             "a smaller window. Drained jobs lose no op."),
      scalar("lcore", &SwitchConfig::lcore, integer<int>(-1, 1023),
             "CPU that the only packet loop is pinned to; -1: not pinned."),
      scalars("lcores", &SwitchConfig::lcores, integer<int>(-1, 1023), 0, kMaxLcores,
              "Several packet loops instead of one: the CPU of each, once; -1: not pinned. Lcore 0 "
              "is the first of the list. Not together with `lcore`."),
      scalar(
          "drain_time", &SwitchConfig::drain_time,
          duration(Duration::ms(100), Duration::seconds(60), Duration::ms(1)),
          "How long `tributary drain`, and a change of jobs, wait for ranks to finish the ops that "
          "have begun. Then the command fails, or the epoch ends without them."),
      scalar("idle_sleep_max", &SwitchConfig::idle_sleep_max,
             duration(Duration::us(0), Duration::ms(100)),
             "Longest sleep of an idle packet loop. 0s: never sleep, burn the CPU."),
      mapping<SwitchConfig, MemoryConfig>(
          "memory", [](auto& c) -> auto& { return c.memory; }, memory_fields(),
          "Memory that the switch reserves."),
      mapping<SwitchConfig, FragmentsConfig>(
          "fragments", [](auto& c) -> auto& { return c.fragments; }, fragments_fields(),
          "IPv4 fragments of packets to the switch and from it, so that chunks may be longer than "
          "the MTU of a port."),
      mapping<SwitchConfig, CompletionConfig>(
          "completion", [](auto& c) -> auto& { return c.completion; }, completion_fields(),
          "The completion engine, which finishes chunks that the switch cannot, for the jobs whose "
          "root this switch is."),
      mapping<SwitchConfig, TelemetryConfig>(
          "telemetry", [](auto& c) -> auto& { return c.telemetry; }, telemetry_fields(),
          "In-band telemetry (docs/telemetry.md): the switch adds its hop to sampled packets, "
          "takes metadata out of what leaves the domain, and reports it."),
      mapping<SwitchConfig, NamesConfig>(
          "names", [](auto& c) -> auto& { return c.names; }, names_fields(),
          "Data by name (docs/names.md): memory for what members put, and for what passes by."),
      mapping<SwitchConfig, OpenJobsConfig>(
          "open_jobs", [](auto& c) -> auto& { return c.open_jobs; }, open_jobs_fields(),
          "Jobs that the switch learns from their ranks, and how much they may take."),
  };
  return fields;
}

const Fields<StaticMac>& static_mac_fields() {
  static const Fields<StaticMac> fields = {
      scalar("mac", &StaticMac::mac, unicast_mac(), "An address, each at most once.", required),
      scalar("port", &StaticMac::port, identifier(), "Name of the port it is behind.", required),
  };
  return fields;
}

std::vector<std::pair<std::string, ReservedRule>> forward_or_drop() {
  return {{"forward", ReservedRule::forward}, {"drop", ReservedRule::drop}};
}

const Fields<ForwardingConfig>& forwarding_fields() {
  static const Fields<ForwardingConfig> fields = {
      scalar("fdb_entries", &ForwardingConfig::fdb_entries,
             power_of_two<std::uint32_t>(16, 1 << 20), "Addresses that the switch can know."),
      scalar("fdb_ageing", &ForwardingConfig::fdb_ageing,
             duration(Duration::seconds(1), Duration::seconds(86400)),
             "A learned address is forgotten after this much silence."),
      list("static_macs", &ForwardingConfig::static_macs, static_mac_fields(), 0, kMaxStaticMacs,
           "Addresses that are never learned, moved or forgotten."),
      mapping<ForwardingConfig, SnoopingConfig>(
          "snooping", [](auto& f) -> auto& { return f.snooping; }, snooping_fields(),
          "IGMP and MLD snooping: which ports ask for which multicast groups."),
      mapping<ForwardingConfig, LldpConfig>(
          "lldp", [](auto& f) -> auto& { return f.lldp; }, lldp_fields(),
          "LLDP: which switch or host is behind which port."),
      choice<ForwardingConfig, ReservedRule>(
          "bpdu", &ForwardingConfig::bpdu,
          {{"forward", ReservedRule::forward},
           {"drop", ReservedRule::drop},
           {"guard", ReservedRule::guard}},
          "Spanning tree's messages, which the switch does not speak: `forward`, as any other "
          "group, so that neighbours find loops through it; `drop`; or `guard`, and the port that "
          "hears one is down until its link is lost, or the port is opened again."),
      choice<ForwardingConfig, ReservedRule>(
          "lacp", &ForwardingConfig::lacp, forward_or_drop(),
          "Link aggregation's messages (LACP, markers) between two neighbours."),
      choice<ForwardingConfig, ReservedRule>(
          "eapol", &ForwardingConfig::eapol, forward_or_drop(),
          "Port authentication (802.1X) between two neighbours."),
      choice<ForwardingConfig, ReservedRule>("pdelay", &ForwardingConfig::pdelay, forward_or_drop(),
                                             "PTP's measurements of the delay to a neighbour."),
  };
  return fields;
}

const Fields<SwitchConfig>& metrics_fields() {
  static const Fields<SwitchConfig> fields = {
      scalar("listen", &SwitchConfig::metrics_listen, listen_address(),
             "Where Prometheus finds `/metrics`. Left out: no endpoint."),
  };
  return fields;
}

const Fields<CacheConfig>& cache_fields() {
  static const Fields<CacheConfig> fields = {
      scalar("megabytes", &CacheConfig::megabytes, integer<std::uint32_t>(0, 1 << 20),
             "Memory for results that all workers have acknowledged, in MiB, oldest out first. "
             "Results that a worker may still lack are kept in any case."),
  };
  return fields;
}

const Fields<SwitchConfig>& control_fields() {
  static const Fields<SwitchConfig> fields = {
      scalar("socket", &SwitchConfig::control_socket, socket_path(),
             "Unix socket for `tributary show`. Left out: none."),
  };
  return fields;
}

}  // namespace

const Fields<SwitchConfig>& schema() {
  const auto self = [](auto& c) -> auto& {
    return c;
  };
  static const Fields<SwitchConfig> fields = {
      mapping<SwitchConfig, SwitchConfig>("switch", self, switch_fields(), "The switch itself.",
                                          required),
      list("ports", &SwitchConfig::ports, port_fields(), 1, kMaxPorts,
           "Ports, in the order in which `show` lists them; one that a reload adds comes where "
           "there "
           "is a place."),
      list("jobs", &SwitchConfig::jobs, job_fields(), 0, kMaxJobs,
           "Jobs that the switch aggregates for. None: it only forwards."),
      mapping<SwitchConfig, ForwardingConfig>(
          "forwarding", [](auto& c) -> auto& { return c.forwarding; }, forwarding_fields(),
          "Switching of all traffic that is not aggregation."),
      mapping<SwitchConfig, AclConfig>(
          "acl", [](auto& c) -> auto& { return c.acl; }, acl_fields(),
          "Access control of all frames that come in, aggregation included."),
      mapping<SwitchConfig, CacheConfig>(
          "cache", [](auto& c) -> auto& { return c.cache; }, cache_fields(),
          "Finished results that can be asked for by job, op and chunk."),
      mapping<SwitchConfig, SwitchConfig>("metrics", self, metrics_fields(),
                                          "The Prometheus endpoint."),
      mapping<SwitchConfig, SwitchConfig>("control", self, control_fields(),
                                          "The local control interface."),
  };
  return fields;
}

const Fields<SwitchConfig>& switch_schema() {
  return switch_fields();
}
const Fields<JobConfig>& job_schema() {
  return job_fields();
}

std::vector<KeyInfo> describe_schema() {
  std::vector<KeyInfo> keys;
  describe_fields(schema(), "", keys);
  return keys;
}

}  // namespace tributary::config
