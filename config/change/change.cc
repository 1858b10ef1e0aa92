#include "config/change/change.h"

#include <algorithm>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "config/load/load.h"
#include "config/model/devargs.h"
#include "config/plan/device_claims.h"
#include "config/plan/lcore_plan.h"
#include "config/plan/memory_plan.h"
#include "config/plan/port_places.h"
#include "config/text/lift.h"
#include "config/text/read_context.h"
#include "config/text/yaml_tree.h"

namespace tributary::config {
namespace {

const Node* find_key(const Node& mapping, const std::string& key) {
  for (const Entry& entry : mapping.entries)
    if (entry.key.text == key) return &entry.value;
  return nullptr;
}

void list_differences(const Node& a, const Node& b, const std::string& path,
                      std::vector<std::string>& paths) {
  if (a.kind != b.kind || a.text != b.text || a.items.size() != b.items.size())
    return paths.push_back(path);
  for (std::size_t i = 0; i < a.items.size(); ++i)
    list_differences(a.items[i], b.items[i], item_path(path, i), paths);
  for (const Entry& entry : a.entries) {
    const std::string inner = child_path(path, entry.key.text);
    if (const Node* const other = find_key(b, entry.key.text))
      list_differences(entry.value, *other, inner, paths);
    else
      paths.push_back(inner);
  }
  for (const Entry& entry : b.entries)
    if (find_key(a, entry.key.text) == nullptr) paths.push_back(child_path(path, entry.key.text));
}

// A text of all keys but the jobs.
std::string text_of(SwitchConfig config) {
  config.jobs.clear();
  return dump(config);
}

// The keys that differ between two such texts. Parsing them is slow, and most are equal.
std::vector<std::string> keys_that_differ(const std::string& a, const std::string& b) {
  std::vector<std::string> paths;
  if (a != b) list_differences(parse_yaml(a), parse_yaml(b), "", paths);
  return paths;
}

// Takes over, part by part, the changes that a running switch can make.
ForwardingChange take_forwarding(SwitchConfig& running, const SwitchConfig& next) {
  ForwardingChange change;
  std::string before = text_of(running);
  const auto take = [&](bool& differs, auto copy) {
    copy(running);
    std::string after = text_of(running);
    const auto keys = keys_that_differ(before, after);
    differs = !keys.empty();
    change.keys.insert(change.keys.end(), keys.begin(), keys.end());
    before = std::move(after);
  };
  const std::size_t ports = std::min(running.ports.size(), next.ports.size());
  const auto copy_of_ports = [&](SwitchConfig& to, auto member) {
    for (std::size_t i = 0; i < ports; ++i) to.ports[i].*member = next.ports[i].*member;
  };
  take(change.acl, [&](SwitchConfig& to) { to.acl = next.acl; });
  take(change.vlans, [&](SwitchConfig& to) { copy_of_ports(to, &PortConfig::vlan); });
  take(change.paths, [&](SwitchConfig& to) { copy_of_ports(to, &PortConfig::paths); });
  take(change.storm, [&](SwitchConfig& to) { copy_of_ports(to, &PortConfig::storm); });
  take(change.addresses, [&](SwitchConfig& to) {
    to.forwarding.static_macs = next.forwarding.static_macs;
    copy_of_ports(to, &PortConfig::max_addresses);
  });
  take(change.rdma, [&](SwitchConfig& to) { copy_of_ports(to, &PortConfig::rdma); });
  take(change.ageing,
       [&](SwitchConfig& to) { to.forwarding.fdb_ageing = next.forwarding.fdb_ageing; });
  take(change.snooping, [&](SwitchConfig& to) {
    SnoopingConfig snooping = next.forwarding.snooping;  // but keeps what its tables were made for
    snooping.enabled = to.forwarding.snooping.enabled;
    snooping.groups = to.forwarding.snooping.groups;
    to.forwarding.snooping = snooping;
  });
  take(change.lldp, [&](SwitchConfig& to) { to.forwarding.lldp = next.forwarding.lldp; });
  take(change.reserved, [&](SwitchConfig& to) {
    static_cast<ReservedGroups&>(to.forwarding) =
        static_cast<const ReservedGroups&>(next.forwarding);
  });
  take(change.routes, [&](SwitchConfig& to) { to.routes = next.routes; });
  take(change.telemetry, [&](SwitchConfig& to) {
    TelemetryConfig telemetry = next.telemetry;  // but keeps what is fixed at the start
    telemetry.node_id = to.telemetry.node_id;
    telemetry.report_to = to.telemetry.report_to;
    telemetry.key_file = to.telemetry.key_file;
    telemetry.udp_port = to.telemetry.udp_port;
    telemetry.dscp = to.telemetry.dscp;
    to.telemetry = telemetry;
  });
  take(change.collisions, [&](SwitchConfig& to) { to.collisions = next.collisions; });
  take(change.open_jobs, [&](SwitchConfig& to) { to.open_jobs = next.open_jobs; });
  take(change.drain_time, [&](SwitchConfig& to) { to.drain_time = next.drain_time; });
  take(change.idle_sleep, [&](SwitchConfig& to) { to.idle_sleep_max = next.idle_sleep_max; });
  take(change.hosts, [&](SwitchConfig& to) { to.completion.hosts = next.completion.hosts; });
  return change;
}

// `running` with the ports of `next` in that order: new ports as they will be, without the ports
// that go.
SwitchConfig in_order_of(const SwitchConfig& running, const SwitchConfig& next,
                         const Seating& seating) {
  SwitchConfig out = running;
  out.ports.clear();
  for (std::size_t i = 0; i < next.ports.size(); ++i) {
    const std::uint16_t place = seating.place[i];
    const bool comes = place >= running.ports.size() || is_vacant(running.ports[place]);
    out.ports.push_back(comes ? next.ports[i] : running.ports[place]);
  }
  return out;
}

// True if a device must be closed before the other one can be opened.
bool in_the_way(const Devargs& device, const Devargs& other) {
  return device.device == other.device || contended(device, other);
}

// Notes what happens to the device of a port that stays.
void note_device(const PortConfig& port, const PortConfig& next, std::uint16_t place,
                 PortChange& change) {
  const Devargs device = parse_devargs(port.devargs);
  const bool other_device = port.devargs != next.devargs;
  const bool other_mtu = port.mtu != next.mtu;
  if (port.queues != next.queues || (other_mtu && device.pci()) ||
      (other_device && in_the_way(device, parse_devargs(next.devargs))))
    change.reopened.push_back(place);
  else if (other_device)
    change.exchanged.push_back(place);
  else if (other_mtu)
    change.resized.push_back(place);
}

// Takes over the changes of ports; both configurations have the same ports.
void take_ports(SwitchConfig& running, const SwitchConfig& next, const Seating& seating,
                PortChange& change) {
  for (std::size_t i = 0; i < next.ports.size(); ++i) {
    PortConfig& port = running.ports[i];
    const PortConfig& to = next.ports[i];
    note_device(port, to, seating.place[i], change);
    if (port.name != to.name) change.told.push_back("port " + port.name + " is called " + to.name);
    if (is_closed(port)) change.told.push_back("port " + to.name + " is opened again");
    const auto tell = [&](bool differs, const char* key) {
      if (differs) change.told.push_back(item_path("ports", i) + key);
    };
    tell(port.devargs != to.devargs, ".devargs");
    tell(port.mtu != to.mtu, ".mtu");
    tell(port.queues != to.queues && !is_closed(port), ".queues");
    tell(port.required != to.required, ".required");
    port.name = to.name;
    port.devargs = to.devargs;
    port.mtu = to.mtu;
    port.queues = to.queues;
    port.lcores = to.lcores;
    port.required = to.required;
  }
}

// Notes whether a queue that stays moves to another lcore, and its port. A port with another number
// of queues gets new ones.
void note_moves(const SwitchConfig& running, const SwitchConfig& next, const Seating& seating,
                PortChange& change) {
  const SwitchConfig to = seated(running, next, seating);
  const std::vector<QueuePlace> after = queue_places(to);
  for (const QueuePlace& was : queue_places(running)) {
    if (to.ports[was.port].queues != running.ports[was.port].queues) continue;
    const auto is = std::find_if(after.begin(), after.end(), [&](const QueuePlace& q) {
      return q.port == was.port && q.queue == was.queue;
    });
    if (is == after.end() || is->lcore == was.lcore) continue;
    change.queues_move = true;
    const auto i = static_cast<std::size_t>(
        std::find(seating.place.begin(), seating.place.end(), was.port) - seating.place.begin());
    const std::string key = item_path("ports", i) + ".lcores";
    if (change.told.empty() || change.told.back() != key) change.told.push_back(key);
  }
}

PortChange port_change(SwitchConfig& can_be, const SwitchConfig& running, const SwitchConfig& next,
                       const Seating& seating) {
  PortChange change;
  change.added = seating.added;
  change.removed = seating.removed;
  change.renamed = seating.renamed;
  for (const std::uint16_t place : change.removed)
    change.told.push_back("port " + running.ports[place].name + " removed");
  for (std::size_t i = 0; i < next.ports.size(); ++i)
    if (std::count(change.added.begin(), change.added.end(), seating.place[i]) != 0)
      change.told.push_back("port " + next.ports[i].name + " added");
  take_ports(can_be, next, seating, change);
  if (lcore_count(running) == lcore_count(next)) note_moves(running, next, seating, change);
  return change;
}

std::string lacking_buffers(const SwitchConfig& next, const BufferRoom& room) {
  std::string text;
  if (const std::size_t bytes = buffer_data_bytes(next); bytes > room.data_bytes) {
    text += "\nports[].mtu, jobs[].chunk_bytes: need frames of " + std::to_string(bytes);
    text += " bytes; packet buffers have " + std::to_string(room.data_bytes) +
            " since the start, and only a restart makes larger ones";
  }
  if (const std::size_t buffers = buffers_in_need(next); buffers > room.buffers) {
    text += "\nports: " + std::to_string(queue_count(next)) + " pairs of queues need ";
    text += std::to_string(buffers) + " packet buffers; since the start there are ";
    text += std::to_string(room.buffers) +
            "; switch.memory.spare_queues reserves them for ports that come later";
  }
  return text;
}

bool is_served_elsewhere(const JobConfig& job) {
  const auto elsewhere = [](const std::string& name) { return name != kRootHost; };
  return !job.parent &&
         std::any_of(job.completion_hosts.begin(), job.completion_hosts.end(), elsewhere);
}

// A job's hosts outside the root, as this switch reaches them.
auto hosts_of(const SwitchConfig& config, const JobConfig& job) {
  std::vector<std::tuple<std::string, std::uint32_t, std::string, std::uint32_t, std::uint32_t>>
      hosts;
  for (const CompletionHost& host : config.completion.hosts)
    if (is_among(job.completion_hosts, host.name))
      hosts.emplace_back(host.name, host.ipv4, host.port, host.hops, host.cost);
  return hosts;
}

// Remote hosts have a job's settings from its start.
bool same_service(const JobConfig& a, const JobConfig& b) {
  const bool has = is_served_elsewhere(b);
  if (is_served_elsewhere(a) != has) return false;
  return !has || (a.completion_hosts == b.completion_hosts && a.shards == b.shards &&
                  a.chunk_bytes == b.chunk_bytes && retries_floats(a) == retries_floats(b) &&
                  a.order == b.order && a.bracketing == b.bracketing &&
                  a.host_choice == b.host_choice && a.notify == b.notify);
}

// The engine hosted here was made for the job's settings at its start.
bool same_hosting(const JobConfig& a, const JobConfig& b) {
  if (a.hosting != b.hosting) return false;
  return !a.hosting ||
         (a.parent->uplink == b.parent->uplink && a.workers == b.workers && a.window == b.window &&
          a.chunk_bytes == b.chunk_bytes && a.shards == b.shards && a.integrity == b.integrity &&
          a.partials == b.partials && a.order == b.order && a.bracketing == b.bracketing &&
          a.arithmetic == b.arithmetic && a.on_deadline == b.on_deadline && a.notify == b.notify &&
          (a.on_deadline != OnDeadline::abort || a.deadline == b.deadline));
}

// Why a job that stays, or changes, cannot be so from now on: completion hosts elsewhere have been
// told of it, and this switch of what it hosts. Empty: it can.
std::string service_problem(const SwitchConfig& running, const JobConfig& a,
                            const SwitchConfig& next, const JobConfig& b) {
  const std::string job = "\njob " + std::to_string(b.id);
  std::string text;
  if ((b.hosting || is_served_elsewhere(b)) && job_lcore(running, a) != job_lcore(next, b))
    text += job +
            ": its completion hosts know it where it is; only a restart moves it to another lcore";
  if (!same_hosting(a, b))
    text += job +
            ": this switch hosts its completion engine; only a restart makes it begin or end that, "
            "or changes the root, the uplink, or what the engine was told of the sums";
  if (!same_service(a, b))
    text += job +
            ": has completion_hosts elsewhere; only a restart changes completion_hosts, "
            "host_choice, notify, shards, chunk_bytes, the order of its sums, or whether floats "
            "are retried";
  if (is_served_elsewhere(b) && hosts_of(running, a) != hosts_of(next, b))
    text += job + ": only a restart changes where its completion hosts are";
  return text;
}

std::string listed(const std::vector<std::uint32_t>& ids) {
  std::string text;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (i > 0) text += i + 1 == ids.size() ? " and " : ", ";
    text += std::to_string(ids[i]);
  }
  return text;
}

}  // namespace

const JobConfig* find_job(const SwitchConfig& config, std::uint32_t id) {
  const auto found = std::find_if(config.jobs.begin(), config.jobs.end(),
                                  [id](const JobConfig& job) { return job.id == id; });
  return found == config.jobs.end() ? nullptr : &*found;
}

Change difference(const SwitchConfig& running, const SwitchConfig& next) {
  return difference(running, next, {buffer_data_bytes(running), least_buffers(running)});
}

Change difference(const SwitchConfig& running, const SwitchConfig& next, const BufferRoom& room) {
  std::string refused;
  Change change;
  const Seating seating = seat_ports(running, next);
  SwitchConfig can_be = in_order_of(running, next, seating);
  change.ports = port_change(can_be, running, next, seating);
  change.forwarding = take_forwarding(can_be, next);
  // State kept by port is for other ports.
  if (!change.ports.added.empty() || !change.ports.removed.empty())
    change.forwarding.vlans = change.forwarding.paths = change.forwarding.storm =
        change.forwarding.addresses = true;
  // State that refers to ports uses their places.
  if (!change.ports.added.empty() || !change.ports.removed.empty() || !change.ports.renamed.empty())
    change.forwarding.snooping = true;
  const auto refuse_key = [&](const std::string& path) {
    refused += "\n" + path + ": only a restart changes it";
  };
  if (can_be.id != next.id) refuse_key("switch.id");
  for (const std::string& path : keys_that_differ(text_of(can_be), text_of(next))) refuse_key(path);
  for (const JobConfig& job : next.jobs) {
    const JobConfig* const before = find_job(running, job.id);
    if (before != nullptr) refused += service_problem(running, *before, next, job);
    auto& list = before == nullptr ? change.added : *before == job ? change.kept : change.changed;
    list.push_back(job.id);
  }
  for (const JobConfig& job : running.jobs) {
    if (find_job(next, job.id) == nullptr) change.removed.push_back(job.id);
  }
  refused += lacking_buffers(next, room);
  if (!refused.empty())
    throw std::invalid_argument("the running switch cannot take this configuration:" + refused);
  return change;
}

std::string describe(const Change& change) {
  std::string text;
  const auto add = [&](const std::vector<std::uint32_t>& ids, const char* what) {
    if (ids.empty()) return;
    text += text.empty() ? "jobs: " : ", ";
    text.append(listed(ids)).append(" ").append(what);
  };
  add(change.changed, "changed");
  add(change.added, "added");
  add(change.removed, "removed");
  if (change.empty()) return "nothing changed";
  if (!text.empty())
    text.append("; ").append(std::to_string(change.kept.size())).append(" as before");
  const char* before = text.empty() ? "changed: " : "; changed: ";
  for (const std::string& key : change.forwarding.keys)
    text.append(std::exchange(before, ", ")).append(key);
  for (const std::string& what : change.ports.told)
    text.append(std::exchange(before, ", ")).append(what);
  return text;
}

}  // namespace tributary::config
