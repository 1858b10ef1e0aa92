#include "tools/agentd/pods/container_load.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace tributary::agentd {
namespace {

// The path of a line "4:cpu,cpuacct:/a/b" whose controllers have `controller`; of "0::/a/b" for "".
std::optional<std::string> group_path(const std::string& text, const std::string& controller) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string names =
        std::string(",").append(line, first + 1, second - first - 1).append(",");
    const std::string wanted = std::string(",").append(controller).append(",");
    const bool is_it = controller.empty() ? names == ",," : names.find(wanted) != std::string::npos;
    if (is_it) return line.substr(second + 1);
  }
  return std::nullopt;
}

std::optional<std::string> text_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) return std::nullopt;
  return text.str();
}

std::optional<std::int64_t> number_after(const std::string& text, const std::string& key) {
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    std::int64_t value = 0;
    if (word == key && words >> value) return value;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Duration> cpu_time_of(int pid, const std::string& proc, const std::string& groups) {
  const auto own = text_of(proc + "/" + std::to_string(pid) + "/cgroup");
  if (!own) return std::nullopt;
  if (const auto path = group_path(*own, "cpuacct")) {
    for (const char* const folder : {"/cpuacct", "/cpu,cpuacct"}) {
      const auto text = text_of(groups + folder + *path + "/cpuacct.usage");
      if (text) return Duration::ns(std::strtoll(text->c_str(), nullptr, 10));
    }
  }
  const auto path = group_path(*own, "");
  const auto text = path ? text_of(groups + *path + "/cpu.stat") : std::nullopt;
  const auto usec = text ? number_after(*text, "usage_usec") : std::nullopt;
  if (!usec) return std::nullopt;
  return Duration::ns(*usec * 1000);
}

std::optional<double> ContainerLoad::cpu(const std::string& id, int pid, Instant now) {
  const auto time = cpu_time_(pid);
  if (!time) return std::nullopt;
  const auto [at, fresh] = usage_.try_emplace(id, Usage{*time, now});
  Usage& last = at->second;
  last.asked = true;
  if (fresh || now <= last.at) return std::nullopt;
  const double share = static_cast<double>(std::max<std::int64_t>(0, (*time - last.time).to_ns())) /
                       static_cast<double>((now - last.at).to_ns());
  last = {*time, now};
  return share;
}

Duration ContainerLoad::idle(const std::string& instance, std::optional<double> load, Instant now) {
  if (!load || *load >= kIdleShare) {
    idle_.erase(instance);
    return {};
  }
  Idle& idle = idle_.try_emplace(instance, Idle{now}).first->second;
  idle.asked = true;
  return now - idle.since;
}

void measure(ContainerLoad& load, const Work& work, const std::map<std::string, double>& devices,
             Instant now, Reconciler::Result& result) {
  std::map<std::pair<std::string, std::string>, const RuntimeContainer*> running;
  for (const RuntimeContainer& one : result.containers)
    if (one.pid > 0) running[{one.instance, one.container}] = &one;
  for (const WantedPod& wanted : work.pods) {
    const auto report = result.instances.find(wanted.instance);
    if (report == result.instances.end()) continue;
    std::optional<double> greatest = 0.0;
    for (manager::ContainerStatus& status : report->second.containers) {
      if (status.state == "exited") continue;
      const auto there = running.find({wanted.instance, status.name});
      if (there != running.end()) status.cpu = load.cpu(there->second->id, there->second->pid, now);
      greatest =
          greatest && status.cpu ? std::optional(std::max(*greatest, *status.cpu)) : std::nullopt;
    }
    for (const std::string& device : wanted.devices)
      if (const auto at = devices.find(device); greatest && at != devices.end())
        greatest = std::max(*greatest, at->second);
    report->second.idle = load.idle(wanted.instance, greatest, now);
  }
  load.end_turn();
}

void ContainerLoad::end_turn() {
  const auto end = [](auto& all) {
    std::erase_if(all, [](const auto& entry) { return !entry.second.asked; });
    for (auto& [key, entry] : all) entry.asked = false;
  };
  end(usage_);
  end(idle_);
}

}  // namespace tributary::agentd
