#include "config/schema/schema_hosts.h"

#include "config/schema/schema.h"

namespace tributary::config {
namespace {

using enum Presence;

const Fields<CompletionHost>& completion_host_fields() {
  using H = CompletionHost;
  static const Fields<H> fields = {
      scalar("name", &H::name, identifier(), "Name of the host in jobs; unique, and not `root`.",
             required),
      scalar("address", &H::ipv4, host_ipv4(),
             "Its IPv4 address; unique. Packets from other addresses are refused.", required),
      scalar(
          "port", &H::port, identifier(),
          "Name of the only port that it may be behind. Left out: any; a job with `notify: direct` "
          "needs it, unless a route leads to the host."),
      scalar("hops", &H::hops, integer<std::uint32_t>(1, kMaxHops),
             "Links between it and the switch, for `host_choice`."),
      scalar("cost", &H::cost, integer<std::uint32_t>(1, kMaxPathCost),
             "Sum of the costs of these links, for `host_choice`."),
  };
  return fields;
}

}  // namespace

const Fields<CompletionConfig>& completion_fields() {
  using C = CompletionConfig;
  static const Fields<C> fields = {
      scalar(
          "megabytes", &C::megabytes, integer<std::uint32_t>(1, 1 << 20),
          "Memory for contributions that wait to be combined, in MiB, shared out to the jobs. A "
          "job takes no more than workers x window x shards x chunk_bytes, with which nothing is "
          "ever refused, and needs workers x chunk_bytes."),
      scalar("lease", &C::lease, duration(kMinHostLease, Duration::seconds(3600), Duration::ms(1)),
             "Silence of a completion host after which the next one of the job takes over."),
      list("hosts", &C::hosts, completion_host_fields(), 0, kMaxCompletionHosts,
           "Parameter servers (`tributary-psd`) that jobs may name in `completion_hosts`."),
      scalar("hosted_megabytes", &C::hosted_megabytes, integer<std::uint32_t>(1, 1 << 20),
             "The same of jobs that a switch of a tree hosts for a root above: contributions and "
             "results, (workers + 2 x window) x shards x chunk_bytes at least. Reserved at start, "
             "where it hosts any."),
      scalar("heartbeat", &C::heartbeat, duration(Duration::ms(1), Duration::seconds(60)),
             "Between two signs of life to each root that it hosts a job for; less than a third of "
             "that root's `completion.lease`."),
  };
  return fields;
}

Codec<HostChoice> host_choice() {
  using enum HostChoice;
  std::vector<std::pair<std::string, HostChoice>> choices;
  for (const HostChoice c : {fixed, random, least_load, fewest_hops, lowest_cost, two_stage})
    choices.emplace_back(name_of(c), c);
  return one_of(std::move(choices));
}

Fields<JobConfig> job_host_fields() {
  return {
      scalars("completion_hosts", &JobConfig::completion_hosts, identifier(), 0,
              kMaxCompletionHosts + 1,
              "Hosts that finish chunks that the switches cannot: names of "
              "`switch.completion.hosts`, and `root` at most as the last. A host that falls silent "
              "is followed by the next, then by the root. Left out: the root."),
      scalar("host_choice", &JobConfig::host_choice, host_choice(),
             "Which of them begins. fixed: the first; shard s begins with host s modulo their "
             "number. Otherwise one for all shards: random by node id, or the best by load, hops "
             "or cost, or of those that the caller of `tributary place-host` names."),
      choice("notify", &JobConfig::notify,
             {{"root", wire::Notify::root},
              {"switch", wire::Notify::host_switch},
              {"direct", wire::Notify::direct}},
             "How a host's result reaches the workers. root: by the root. switch: hosts are "
             "switches of the tree, and those below one have it from there, sooner. direct: hosts "
             "are servers or workers, and multicast it to all workers, too. With both, a host that "
             "is lost while it has chunks ends the epoch."),
  };
}

}  // namespace tributary::config
