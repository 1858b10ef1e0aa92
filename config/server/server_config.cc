#include "config/server/server_config.h"

#include <algorithm>

#include "config/plan/memory_plan.h"
#include "config/schema/schema.h"
#include "config/schema/schema_stragglers.h"
#include "config/server/check_server.h"
#include "config/text/file.h"
#include "config/text/lift.h"

namespace tributary::config {
namespace {

using enum Presence;

// Left out of a file, and of dump(), if the job waits for all ranks.
Field<ServedJobConfig> stragglers_field() {
  using J = ServedJobConfig;
  Field<J> field = mapping<J, StragglerPolicy>(
      "stragglers", [](auto& j) -> auto& { return j.job.stragglers; }, waiting_fields(),
      "How the server treats ranks that are late.");
  field.write = [write = field.write](const J& job, int indent) {
    return degrades(job.job) ? write(job, indent) : std::string();
  };
  return field;
}

const Fields<ServedJobConfig>& job_fields() {
  using J = ServedJobConfig;
  static const Fields<J> fields = [] {
    Fields<J> all;
    // Keys about slots, ports and members matter to the switches only.
    const std::vector<std::string> kept = {"id",          "name",
                                           "workers",     "window",
                                           "chunk_bytes", "shards",
                                           "deadline",    "integrity",
                                           "order",       "bracketing",
                                           "partials",    "arithmetic",
                                           "on_deadline", "completion_trigger",
                                           "notify"};
    lift_if<J>(
        job_schema(), [](auto& j) -> auto& { return j.job; },
        [&](const std::string& name) { return is_among(kept, name); }, Described::elsewhere, all);
    all.push_back(scalar(
        "root", &J::root_ipv4, host_ipv4(),
        "Address of the job's root switch. Packets from other addresses are refused.", required));
    all.push_back(scalar("root_udp_port", &J::root_udp_port, integer<std::uint16_t>(1024, 65535),
                         "The root's `udp_base_port`."));
    all.push_back(optimizer_field<J>());
    all.push_back(stragglers_field());
    return all;
  }();
  return fields;
}

const Fields<FragmentsConfig>& fragments_fields() {
  using F = FragmentsConfig;
  static const Fields<F> fields = {
      scalar("datagrams", &F::datagrams, integer<std::uint32_t>(0, kMaxDatagrams),
             "Datagrams that the server may be putting together at once; a packet buffer each. 0: "
             "fragments are dropped, and none are sent."),
      scalar("timeout", &F::timeout, duration(Duration::ms(1), Duration::seconds(30)),
             "As `fragments.timeout` of a switch."),
  };
  return fields;
}

// Left out of dump() if the server uses the kernel's UDP.
Field<ServerConfig> port_field() {
  using P = ServerPortConfig;
  static const Fields<P> keys = {
      scalar("devargs", &P::devargs, devargs(), "Any DPDK device, in DPDK's own syntax.", required),
      scalar("mtu", &P::mtu, integer<std::uint32_t>(kMinMtu, kMaxMtu),
             "Largest IP packet in bytes."),
      scalar("hugepages", &P::hugepages, boolean(), "As `memory.hugepages` of a switch."),
      scalar("idle_sleep_max", &P::idle_sleep_max, duration(Duration::us(0), Duration::ms(100)),
             "Longest sleep while nothing comes. 0s: never sleep, burn the CPU."),
      mapping<P, FragmentsConfig>(
          "fragments", [](auto& p) -> auto& { return p.fragments; }, fragments_fields(),
          "IPv4 fragments of packets to the server and from it, so that chunks may be longer than "
          "`mtu`. The roots need `switch.fragments`, too."),
  };
  Field<ServerConfig> field = mapping<ServerConfig, P>(
      "dpdk", [](auto& s) -> auto& { return s.dpdk; }, keys,
      "A DPDK port that is the server's alone, instead of the kernel's UDP.");
  field.describe = [describe = field.describe](const std::string& path, std::vector<KeyInfo>& all) {
    const std::size_t own = all.size();
    describe(path, all);
    all[own].fallback = "none";
  };
  field.write = [write = field.write](const ServerConfig& server, int indent) {
    return server.dpdk.devargs.empty() ? std::string() : write(server, indent);
  };
  return field;
}

}  // namespace

const Fields<ServerConfig>& server_node_schema() {
  using S = ServerConfig;
  static const Fields<S> fields = {
      scalar("name", &S::name, identifier(), "Name of the server."),
      scalar("address", &S::ipv4, host_ipv4(),
             "Own IPv4 address, under which the switches know it; an interface has it, unless the "
             "server has a DPDK port.",
             required),
      scalar("udp_port", &S::udp_port, integer<std::uint16_t>(1024, 65535),
             "UDP port at which it listens."),
      scalar("megabytes", &S::megabytes, integer<std::uint32_t>(1, 1 << 20),
             "Memory for contributions and results, in MiB, shared out to the jobs; reserved at "
             "start. `--check` prints how much they need and could use."),
      scalar("heartbeat", &S::heartbeat, duration(Duration::ms(1), Duration::seconds(60)),
             "Between two signs of life to each root; less than a third of its "
             "`switch.completion.lease`."),
      port_field(),
  };
  return fields;
}

const Fields<ServerConfig>& server_schema() {
  using S = ServerConfig;
  static const Fields<S> fields = [] {
    const auto self = [](auto& c) -> auto& {
      return c;
    };
    static const Fields<S> metrics = {
        scalar("listen", &S::metrics_listen, listen_address(), "As in a switch's file.")};
    static const Fields<S> control = {
        scalar("socket", &S::control_socket, socket_path(), "As in a switch's file.")};
    return Fields<S>{
        mapping<S, S>("server", self, server_node_schema(), "The server itself.", required),
        list("jobs", &S::jobs, job_fields(), 1, kMaxJobs,
             "Jobs that the server finishes chunks of, with the keys and values of the switch's "
             "file that say how to sum, and these."),
        mapping<S, S>("metrics", self, metrics, "The Prometheus endpoint."),
        mapping<S, S>("control", self, control, "The local control interface."),
    };
  }();
  return fields;
}

std::uint64_t server_share(const ServerConfig& config, const JobConfig& job) {
  const auto demand = [](const JobConfig& j) {
    return Demand{least_served_bytes(j), most_served_bytes(j)};
  };
  std::vector<Demand> all;
  std::uint64_t budget = std::uint64_t{config.megabytes} << 20;
  for (const ServedJobConfig& served : config.jobs) {
    all.push_back(demand(served.job));
    budget -= std::min(budget, model_bytes(served.optimizer));
  }
  return share_of(budget, all, demand(job));
}

ServerConfig load_server_config(const std::string& path) {
  return parse_server_config(read_file(path), path);
}

ServerConfig parse_server_config(std::string_view text, const std::string& file_name) {
  const Node root = parse_text(text, file_name);
  ReadContext context(file_name);
  ServerConfig config;
  read_mapping(context, "", root, server_schema(), config);
  for (ServedJobConfig& served : config.jobs)
    if (served.job.name.empty()) served.job.name = "job-" + std::to_string(served.job.id);
  check(config, context);
  if (!context.errors().empty()) throw ConfigErrors(context.errors());
  return config;
}

std::string dump(const ServerConfig& config) {
  return write_fields(server_schema(), config, 0);
}

std::vector<KeyInfo> describe_server_schema() {
  std::vector<KeyInfo> keys;
  describe_fields(server_schema(), "", keys);
  return keys;
}

}  // namespace tributary::config
