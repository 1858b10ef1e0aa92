#include "config/change.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "config/lcore_plan.h"
#include "config/load.h"
#include "config/memory_plan.h"
#include "config/read_context.h"
#include "config/yaml_tree.h"

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

// Of everything but the jobs.
std::vector<std::string> keys_that_differ(SwitchConfig a, SwitchConfig b) {
  std::vector<std::string> paths;
  if (a.id != b.id) paths.emplace_back("switch.id");
  a.jobs.clear();
  b.jobs.clear();
  list_differences(parse_yaml(dump(a)), parse_yaml(dump(b)), "", paths);
  return paths;
}

// Takes over, part by part, what a switch can change while it runs.
ForwardingChange take_forwarding(SwitchConfig& running, const SwitchConfig& next) {
  ForwardingChange change;
  const auto take = [&](bool& differs, auto copy) {
    SwitchConfig taken = running;
    copy(taken);
    const auto keys = keys_that_differ(running, taken);
    differs = !keys.empty();
    change.keys.insert(change.keys.end(), keys.begin(), keys.end());
    running = std::move(taken);
  };
  const std::size_t ports = std::min(running.ports.size(), next.ports.size());
  const auto copy_of_ports = [&](SwitchConfig& to, auto member) {
    for (std::size_t i = 0; i < ports; ++i) to.ports[i].*member = next.ports[i].*member;
  };
  take(change.acl, [&](SwitchConfig& to) { to.acl = next.acl; });
  take(change.vlans, [&](SwitchConfig& to) { copy_of_ports(to, &PortConfig::vlan); });
  take(change.storm, [&](SwitchConfig& to) { copy_of_ports(to, &PortConfig::storm); });
  take(change.addresses, [&](SwitchConfig& to) {
    to.forwarding.static_macs = next.forwarding.static_macs;
    copy_of_ports(to, &PortConfig::max_addresses);
  });
  return change;
}

// The same of the devices behind ports.
std::vector<std::uint16_t> take_devices(SwitchConfig& running, const SwitchConfig& next) {
  std::vector<std::uint16_t> ports;
  for (std::uint16_t i = 0; i < std::min(running.ports.size(), next.ports.size()); ++i) {
    PortConfig& port = running.ports[i];
    if (port.devargs == next.ports[i].devargs) continue;
    port.devargs = next.ports[i].devargs;
    port.mtu = next.ports[i].mtu;
    ports.push_back(i);
  }
  return ports;
}

bool is_served_elsewhere(const JobConfig& job) {
  const auto elsewhere = [](const std::string& name) { return name != kRootHost; };
  return !job.parent &&
         std::any_of(job.completion_hosts.begin(), job.completion_hosts.end(), elsewhere);
}

// Who serves a job elsewhere is known by what it was told at its start.
bool same_service(const JobConfig* a, const JobConfig* b) {
  const bool had = a != nullptr && is_served_elsewhere(*a);
  const bool has = b != nullptr && is_served_elsewhere(*b);
  if (!had && !has) return true;
  return had && has && a->completion_hosts == b->completion_hosts && a->shards == b->shards &&
         a->chunk_bytes == b->chunk_bytes && retries_floats(*a) == retries_floats(*b) &&
         a->order == b->order && a->bracketing == b->bracketing &&
         a->host_choice == b->host_choice && a->notify == b->notify;
}

// The engine that is hosted here was made for the job as it was told at its start.
bool same_hosting(const JobConfig* a, const JobConfig* b) {
  const bool had = a != nullptr && a->hosting;
  const bool has = b != nullptr && b->hosting;
  if (!had && !has) return true;
  return had && has && a->hosting == b->hosting && a->parent->uplink == b->parent->uplink &&
         a->workers == b->workers && a->window == b->window && a->chunk_bytes == b->chunk_bytes &&
         a->shards == b->shards && a->integrity == b->integrity && a->partials == b->partials &&
         a->order == b->order && a->bracketing == b->bracketing && a->arithmetic == b->arithmetic &&
         a->on_deadline == b->on_deadline && a->notify == b->notify &&
         (a->on_deadline != OnDeadline::abort || a->deadline == b->deadline);
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
  return difference(running, next, buffer_data_bytes(running));
}

Change difference(const SwitchConfig& running, const SwitchConfig& next, std::size_t buffer_bytes) {
  std::string refused;
  Change change;
  SwitchConfig can_be = running;
  change.forwarding = take_forwarding(can_be, next);
  change.ports = take_devices(can_be, next);
  for (const std::string& path : keys_that_differ(can_be, next))
    refused += "\n" + path + ": only a restart changes it";
  const auto check_service = [&](const JobConfig* a, const JobConfig* b) {
    if (a != nullptr && b != nullptr && (b->hosting || is_served_elsewhere(*b)) &&
        job_lcore(running, *a) != job_lcore(next, *b)) {
      refused += "\njob " + std::to_string(b->id);
      refused +=
          ": its completion hosts know it where it is; only a restart moves it to another "
          "lcore";
    }
    if (!same_hosting(a, b)) {
      refused += "\njob " + std::to_string((a != nullptr ? a : b)->id);
      refused +=
          ": this switch hosts its completion engine; only a restart makes it begin or end that, "
          "or changes the root, the uplink, or what the engine was told of the sums";
    }
    if (same_service(a, b)) return;
    refused += "\njob " + std::to_string((a != nullptr ? a : b)->id);
    refused +=
        ": has completion_hosts elsewhere; only a restart adds or removes it, or changes "
        "completion_hosts, host_choice, notify, shards, chunk_bytes, the order of its sums, or "
        "whether "
        "floats are "
        "retried";
  };
  for (const JobConfig& job : next.jobs) {
    const JobConfig* const before = find_job(running, job.id);
    check_service(before, &job);
    auto& list = before == nullptr ? change.added : *before == job ? change.kept : change.changed;
    list.push_back(job.id);
  }
  for (const JobConfig& job : running.jobs) {
    if (find_job(next, job.id) != nullptr) continue;
    check_service(&job, nullptr);
    change.removed.push_back(job.id);
  }
  if (buffer_data_bytes(next) > buffer_bytes) {
    refused += "\nports[].mtu, jobs[].chunk_bytes: need frames of " +
               std::to_string(buffer_data_bytes(next));
    refused += " bytes; packet buffers have " + std::to_string(buffer_bytes);
  }
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
  for (const std::uint16_t port : change.ports)
    text.append(std::exchange(before, ", ")).append(item_path("ports", port)).append(".devargs");
  return text;
}

}  // namespace tributary::config
