// Keys of a topology: those of single switches and jobs, and the keys that connect them.
#include "config/schema/schema.h"
#include "config/text/lift.h"
#include "config/topology/topology.h"

namespace tributary::config {
namespace {

using enum Presence;

inline constexpr std::size_t kMaxSwitches = 256;
inline constexpr std::size_t kMaxOtherUplinks = 7;

// Makes a key required, though in a file of its own it has a default.
template <typename Owner>
void require(const std::string& name, Fields<Owner>& fields) {
  for (auto& field : fields)
    if (field.name == name) field.presence = required;
}

const Fields<TopologyUplink>& uplink_fields() {
  using U = TopologyUplink;
  static const Fields<U> fields = {
      scalar("parent", &U::parent, identifier(), "Name of the switch above on this way.", required),
      scalar("parent_port", &U::parent_port, identifier(), "Port of that switch.", required),
      scalar("uplink", &U::uplink, identifier(), "Own port of this way, which is its name.",
             required),
  };
  return fields;
}

const Fields<TopologySwitch>& switch_fields() {
  using S = TopologySwitch;
  static const Fields<S> fields = [] {
    const auto config = [](auto& s) -> auto& {
      return s.config;
    };
    Fields<S> all;
    lift<S>(switch_schema(), config, {}, Described::elsewhere, all);
    require("name", all);
    const Fields<SwitchConfig> id = {scalar(
        "id", &SwitchConfig::id, integer<std::uint32_t>(1, 0xFFFFFFFF),
        "The switch's number, unique in the tree: what its packets to its parent name.", required)};
    lift<S>(id, config, {}, Described::here, all);
    all.push_back(scalar("parent", &S::parent, identifier(),
                         "Name of the switch above. Exactly one switch, the root, has none."));
    all.push_back(scalar("parent_port", &S::parent_port, identifier(),
                         "Port of the parent through which it reaches this switch; required with "
                         "`parent`."));
    all.push_back(scalar("uplink", &S::uplink, identifier(),
                         "Own port through which this switch reaches its parent; required with "
                         "`parent`."));
    all.push_back(list("other_uplinks", &S::other_uplinks, uplink_fields(), 0, kMaxOtherUplinks,
                       "Further ways up. Their ports are in no VLAN while they are not in use, so "
                       "that nothing is flooded in a circle (`vlan.mode`: `paths` where some "
                       "switch has `paths`, otherwise `none`)."));
    all.push_back(scalar("active_uplink", &S::active_uplink, identifier(),
                         "The way in use: `uplink`, or that of one of `other_uplinks`. Left out: "
                         "`uplink`."));
    all.push_back(scalar("uplink_cost", &S::uplink_cost, integer<std::uint32_t>(1, kMaxLinkCost),
                         "Cost of that link, for `host_choice`."));
    all.push_back(scalar("aggregate", &S::aggregate, boolean(),
                         "Off: this switch only forwards, and what is attached to it is, for the "
                         "jobs, on the next switch above that aggregates."));
    all.push_back(scalar(
        "deadline", &S::deadline,
        or_absent(duration(kMinDeadline, Duration::seconds(3600), Duration::ms(1))),
        "Deadline of all jobs at this switch. Left out: `jobs[].deadline` where no switch is "
        "below, otherwise an eighth of it (at least 100ms) more than the largest below."));
    lift<S>(schema(), config, {"switch", "jobs"}, Described::elsewhere, all);
    return all;
  }();
  return fields;
}

const Fields<TopologyWorker>& worker_fields() {
  using W = TopologyWorker;
  static const Fields<W> fields = {
      scalar("name", &W::name, identifier(),
             "Name of the worker, for members and in output; unique.", required),
      scalar("switch", &W::attached_to, identifier(), "Name of the switch it is attached to.",
             required),
      scalar("port", &W::port, identifier(), "Port of that switch.", required),
      scalar("address", &W::ipv4, or_absent(host_ipv4()),
             "The worker's own IPv4 address; `tools/testbed` gives it to it."),
      scalar(
          "node", &W::node, identifier(),
          "Node whose containers lease the port, one at a time. The port is memif, with a socket "
          "in a folder of its own."),
  };
  return fields;
}

const Fields<TopologyServer>& server_fields() {
  using S = TopologyServer;
  static const Fields<S> fields = [] {
    const auto config = [](auto& s) -> auto& {
      return s.config;
    };
    Fields<S> all;
    lift<S>(server_node_schema(), config, {}, Described::elsewhere, all);
    require("name", all);
    all.push_back(scalar("switch", &S::attached_to, identifier(),
                         "Name of the switch it is attached to, anywhere in the tree.", required));
    all.push_back(scalar("port", &S::port, identifier(), "Port of that switch.", required));
    all.push_back(scalar("cost", &S::cost, integer<std::uint32_t>(1, kMaxLinkCost),
                         "Cost of that link, for `host_choice`."));
    lift<S>(server_schema(), config, {"server", "jobs"}, Described::elsewhere, all);
    return all;
  }();
  return fields;
}

const Fields<TopologyMember>& member_fields() {
  static const Fields<TopologyMember> fields = {
      scalar("rank", &TopologyMember::rank, integer<std::uint32_t>(0, kMaxWorkers - 1),
             "A rank of the job. All of them, each once.", required),
      scalar("worker", &TopologyMember::worker, identifier(), "Name of the worker that has it.",
             required),
  };
  return fields;
}

// A server's own file documents its keys.
Field<TopologyJob> optimizer_key() {
  Field<TopologyJob> field = optimizer_field<TopologyJob>();
  field.describe = [describe = field.describe](const std::string& path,
                                               std::vector<KeyInfo>& keys) {
    std::vector<KeyInfo> all;
    describe(path, all);
    all.front().fallback = "none";
    all.front().allowed = "the keys of a server's `jobs[].optimizer`";
    keys.push_back(all.front());
  };
  return field;
}

const Fields<TopologyJob>& job_fields() {
  using J = TopologyJob;
  static const Fields<J> fields = [] {
    Fields<J> all;
    lift<J>(
        job_schema(), [](auto& j) -> auto& { return j.config; },
        {"members", "lcore", "lcores", "min_workers"}, Described::elsewhere, all);
    all.push_back(list("members", &J::members, member_fields(), 0, kMaxWorkers,
                       "Which worker has which rank. Left out: rank r is the r-th worker of the "
                       "file."));
    all.push_back(optimizer_key());
    return all;
  }();
  return fields;
}

}  // namespace

const Fields<Topology>& topology_schema() {
  static const Fields<Topology> fields = {
      list("switches", &Topology::switches, switch_fields(), 1, kMaxSwitches,
           "The switches of one tree. Each has the keys below, those that a single switch has "
           "below `switch`, and `ports`, `forwarding`, `metrics` and `control`."),
      list("workers", &Topology::workers, worker_fields(), 0, kMaxWorkers,
           "Workers that are attached to the tree."),
      list("servers", &Topology::servers, server_fields(), 0, kMaxCompletionHosts,
           "Parameter servers that jobs may name in `completion_hosts`. Each has the keys below, "
           "those that a server's own file has below `server`, and `metrics` and `control`."),
      list("jobs", &Topology::jobs, job_fields(), 0, kMaxJobs,
           "The jobs of the whole tree, with the keys that a single switch's jobs have; only "
           "`members` differs, `optimizer` is told to the job's server, and `lcore` and `lcores` "
           "are left to each switch: the job's id modulo its lcores, and those that follow."),
  };
  return fields;
}

std::vector<KeyInfo> describe_topology_schema() {
  std::vector<KeyInfo> keys;
  describe_fields(topology_schema(), "", keys);
  return keys;
}

}  // namespace tributary::config
