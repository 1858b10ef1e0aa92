#include "tools/agentd/pods/container_spec.h"

#include <algorithm>
#include <array>
#include <boost/algorithm/string/join.hpp>
#include <stdexcept>

#include "manager/pods/quantity.h"
#include "tools/agentd/pods/libpod.h"

namespace tributary::agentd {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kCpuPeriodUs = 100'000;
constexpr std::int64_t kMostLogBytes = 16 << 20;  // of a container: podman starts anew then
constexpr std::array kKeptCapabilities = {"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER",
                                          "CAP_KILL",  "CAP_SETGID",       "CAP_SETUID"};

std::string limit_of(const manager::Container& container, const std::string& resource) {
  const auto at = container.resources.limits.find(resource);
  return at == container.resources.limits.end() ? "" : at->second;
}

std::uint32_t count_of(const manager::Container& container, const std::string& kind) {
  const auto& limits = container.resources.limits;
  const auto& requests = container.resources.requests;
  const auto at = limits.find(kind);
  const auto asked = requests.find(kind);
  const std::string text = at != limits.end()        ? at->second
                           : asked != requests.end() ? asked->second
                                                     : "0";
  return static_cast<std::uint32_t>(std::stoul(text));
}

// Containers take the pod's devices of a kind in turn.
std::vector<std::string> devices_of(const WantedPod& wanted, std::size_t container,
                                    const SpecSettings& settings) {
  std::map<std::string, std::vector<std::string>> by_kind;
  for (const std::string& device : wanted.devices) {
    const auto at = settings.devices.find(device);
    if (at == settings.devices.end())
      throw std::invalid_argument("device " + device + " is not there");
    by_kind[at->second].push_back(device);
  }
  std::vector<std::string> own;
  for (const auto& [kind, devices] : by_kind) {
    std::size_t first = 0;
    for (std::size_t i = 0; i < container; ++i)
      first += count_of(wanted.pod.spec.containers[i], kind);
    const std::size_t end = first + count_of(wanted.pod.spec.containers[container], kind);
    for (std::size_t i = first; i < std::min(end, devices.size()); ++i) own.push_back(devices[i]);
  }
  return own;
}

Json limits_of(const manager::Container& container, const SpecSettings& settings) {
  Json limits = {{"pids", {{"limit", settings.pids}}}};
  if (const auto millis = manager::parse_cpu_millis(limit_of(container, "cpu")))
    limits["cpu"] = {{"quota", std::max<std::uint64_t>(*millis * kCpuPeriodUs / 1000, 1000)},
                     {"period", kCpuPeriodUs}};
  if (const auto bytes = manager::parse_bytes(limit_of(container, "memory")))
    limits["memory"] = {{"limit", *bytes}, {"swap", *bytes}};
  return limits;
}

Json network_of(const std::string& network) {
  constexpr std::string_view kPath = "ns:";
  if (network.starts_with(kPath))
    return {{"nsmode", "path"}, {"value", network.substr(kPath.size())}};
  return {{"nsmode", network}};
}

void add_root(const std::string& image, const SpecSettings& settings, Json& spec) {
  const std::string prefix = manager::kRootfsPrefix;
  if (!image.starts_with(prefix)) {
    spec["image"] = image;
    return;
  }
  spec["rootfs"] = settings.roots + "/" + image.substr(prefix.size());
  spec["rootfs_overlay"] = true;
}

// A port in shared memory as the node sees it: "memif:///run/port0/memif?id=0&switch=10.77.0.254".
struct Port {
  std::string folder;
  std::string address;  // as the container sees it
};

Port port_of(const manager::Seat& seat) {
  constexpr std::string_view kMemif = "memif://";
  const std::size_t end = std::min(seat.address.find('?'), seat.address.size());
  const std::size_t slash = seat.address.rfind('/', end);
  if (!seat.address.starts_with(kMemif) || slash == std::string::npos || slash <= kMemif.size())
    throw std::invalid_argument("port " + seat.port + " is at " + seat.address +
                                "; allowed: memif:///FOLDER/SOCKET");
  return {seat.address.substr(kMemif.size(), slash - kMemif.size()),
          std::string(kMemif) + kPortFolder + seat.address.substr(slash)};
}

void add_seat(const manager::Seat& seat, Json& spec) {
  const Port port = port_of(seat);
  // The folder, since a switch that starts again makes its socket anew. A socket is no file:
  // containers may connect to it though they can write nothing.
  spec["mounts"].push_back({{"type", "bind"},
                            {"source", port.folder},
                            {"destination", kPortFolder},
                            {"options", {"bind", "ro", "nosuid", "nodev", "noexec"}}});
  Json& environment = spec["env"];
  environment["TRIBUTARY_JOB"] = std::to_string(seat.id);
  environment["TRIBUTARY_ADDRESS"] = port.address;
  environment["RANK"] = std::to_string(seat.rank);
  environment["WORLD_SIZE"] = std::to_string(seat.size);
  environment["LOCAL_RANK"] = std::to_string(seat.local_rank);
  environment["LOCAL_WORLD_SIZE"] = std::to_string(seat.local_size);
}

Json environment_of(const WantedPod& wanted, const manager::Container& container,
                    const std::vector<std::string>& devices, const SpecSettings& settings) {
  Json environment = Json::object();
  environment["TRIBUTARY_NODE"] = settings.node;
  environment["TRIBUTARY_POD"] = wanted.pod.metadata.name;
  environment["TRIBUTARY_DEVICES"] = boost::algorithm::join(devices, ",");
  for (const manager::EnvVar& variable : container.env) environment[variable.name] = variable.value;
  return environment;
}

}  // namespace

std::string cdi_name(const std::string& node, const std::string& device) {
  return node + "." + device;
}

Json container_spec(const WantedPod& wanted, std::size_t container, const SpecSettings& settings) {
  const manager::Container& from = wanted.pod.spec.containers.at(container);
  const std::vector<std::string> devices = devices_of(wanted, container, settings);
  const std::vector<std::string> name = {"tributary", wanted.pod.metadata.name, from.name,
                                         wanted.instance};
  Json spec = {{"name", boost::algorithm::join(name, "-")},
               {"labels",
                {{kNodeLabel, settings.node},
                 {kInstanceLabel, wanted.instance},
                 {kPodLabel, wanted.pod.metadata.name},
                 {kContainerLabel, from.name}}},
               {"env", environment_of(wanted, from, devices, settings)},
               {"resource_limits", limits_of(from, settings)},
               {"netns", network_of(settings.network)},
               {"cap_drop", Json::array({"all"})},
               {"cap_add", kKeptCapabilities},
               {"no_new_privileges", true},
               {"log_configuration", {{"driver", "k8s-file"}, {"size", kMostLogBytes}}},
               {"read_only_filesystem", from.read_only_root},
               {"r_limits",
                {{{"type", "nofile"}, {"hard", settings.open_files}, {"soft", settings.open_files}},
                 {{"type", "nproc"}, {"hard", settings.processes}, {"soft", settings.processes}}}}};
  add_root(from.image, settings, spec);
  if (wanted.seat && container == 0) add_seat(*wanted.seat, spec);
  std::vector<std::string> words = from.command;
  words.insert(words.end(), from.args.begin(), from.args.end());
  if (!from.command.empty()) spec["entrypoint"] = Json::array();
  if (!words.empty()) spec["command"] = words;
  if (!from.working_dir.empty()) spec["work_dir"] = from.working_dir;
  for (const std::string& device : devices)
    spec["devices"].push_back(
        {{"path", settings.devices.at(device) + "=" + cdi_name(settings.node, device)}});
  return spec;
}

}  // namespace tributary::agentd
