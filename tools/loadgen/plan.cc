#include "tools/loadgen/plan.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "dataplane/frame/devargs.h"
#include "worker/transport/memif_rings.h"

namespace tributary::loadgen {
namespace {

constexpr std::uint32_t kFirstIpv4 = 0x0A500000;  // 10.80.0.0/14: as many as workers can be
constexpr std::uint32_t kIpv4Mask = 0xFFFC0000;
// Defaults of DPDK's driver where devargs give no value.
constexpr char kMemifSocket[] = "/run/memif.sock";
constexpr std::size_t kMemifLog2Frames = 10;

std::string joined(const dataplane::Devargs& args, const std::string& device) {
  std::string text = device;
  for (const auto& [key, value] : args.arguments)
    text.append(",").append(key).append("=").append(value);
  return text;
}

std::size_t port_index(const Plan& plan, const std::string& name) {
  const auto at = std::find_if(plan.ports.begin(), plan.ports.end(),
                               [&](const PlannedPort& port) { return port.name == name; });
  if (at == plan.ports.end()) throw std::invalid_argument("the switch has no port '" + name + "'");
  return static_cast<std::size_t>(at - plan.ports.begin());
}

void add_workers(Plan& plan, std::size_t job) {
  const config::JobConfig& config = plan.jobs[job];
  for (std::uint32_t rank = 0; rank < config.workers; ++rank) {
    std::size_t port = rank % plan.ports.size();
    for (const config::MemberConfig& member : config.members)
      if (member.rank == rank) port = port_index(plan, member.port);
    const auto ipv4 = kFirstIpv4 + static_cast<std::uint32_t>(plan.workers.size()) + 1;
    plan.workers.push_back({job, rank, port, ipv4});
  }
}

}  // namespace

std::string far_end(const config::PortConfig& port) {
  dataplane::Devargs args = dataplane::parse_devargs(port.devargs);
  if (args.kind->memif) {
    bool has_role = false;
    for (auto& [key, value] : args.arguments) {
      if (key != "role") continue;
      value = "client";
      has_role = true;
    }
    if (!has_role) args.arguments.emplace_back("role", "client");
    return joined(args, args.device);
  }
  if (args.kind->vhost && args.get("iface"))
    return "net_virtio_user" + args.device.substr(args.driver.size()) +
           ",path=" + std::string(*args.get("iface")) + ",queue_size=1024";
  throw std::invalid_argument("port " + port.name + " (" + port.devargs +
                              "): its other end does not follow from this; give it with --port " +
                              port.name + "=DEVARGS");
}

std::optional<MemifEnd> memif_end(const config::PortConfig& port) {
  constexpr std::array kKnown = {"id",   "socket", "socket-abstract", "rsize", "bsize",
                                 "role", "mac"};
  const dataplane::Devargs args = dataplane::parse_devargs(port.devargs);
  if (!args.kind->memif) return std::nullopt;
  for (const auto& [key, value] : args.arguments)
    if (std::find(kKnown.begin(), kKnown.end(), key) == kKnown.end()) return std::nullopt;
  const std::size_t log2_frames = args.number("rsize", kMemifLog2Frames);
  if (log2_frames > worker::MemifRings::kLog2Size) return std::nullopt;
  return MemifEnd{std::string(args.get("socket").value_or(kMemifSocket)),
                  static_cast<std::uint32_t>(args.number("id", 0)), std::size_t{1} << log2_frames};
}

Plan make_plan(const config::SwitchConfig& config, const std::vector<std::uint32_t>& jobs,
               const std::map<std::string, std::string>& ends) {
  Plan plan;
  plan.config = config;
  if ((config.ipv4 & kIpv4Mask) == kFirstIpv4)
    throw std::invalid_argument(
        "the switch's address is in 10.80.0.0/14, which the load "
        "generator's workers have");
  for (const config::PortConfig& port : config.ports) {
    const auto given = ends.find(port.name);
    if (given != ends.end())
      plan.ports.push_back({port.name, given->second, std::nullopt});
    else
      plan.ports.push_back({port.name, far_end(port), memif_end(port)});
  }
  for (const auto& [name, devargs] : ends) port_index(plan, name);
  for (const std::uint32_t id : jobs)
    if (std::none_of(config.jobs.begin(), config.jobs.end(),
                     [id](const auto& job) { return job.id == id; }))
      throw std::invalid_argument("the configuration has no job " + std::to_string(id));
  for (const config::JobConfig& job : config.jobs) {
    if (!jobs.empty() && std::find(jobs.begin(), jobs.end(), job.id) == jobs.end()) continue;
    if (job.notify == wire::Notify::direct)
      throw std::invalid_argument("job " + std::to_string(job.id) +
                                  ": its completion hosts notify workers directly, and the "
                                  "workers played here hear the switch only; choose other jobs "
                                  "with --job");
    for (std::uint8_t plane = 0; plane < job.planes; ++plane) {
      config::JobConfig& played = plan.jobs.emplace_back(job);
      played.plane = plane;
      if (job.planes > 1) played.name.append(":").append(std::to_string(plane));
      add_workers(plan, plan.jobs.size() - 1);
    }
  }
  return plan;
}

double rate_of(const Plan& plan, std::size_t job, std::uint64_t of_all,
               const std::map<std::uint32_t, std::uint64_t>& own) {
  const auto planes = [&](std::uint32_t id) {
    return std::count_if(plan.jobs.begin(), plan.jobs.end(),
                         [id](const auto& played) { return played.id == id; });
  };
  for (const auto& [id, rate] : own)
    if (planes(id) == 0)
      throw std::invalid_argument("a rate for job " + std::to_string(id) + ", which is not played");
  const std::uint32_t id = plan.jobs[job].id;
  if (const auto rate = own.find(id); rate != own.end())
    return static_cast<double>(rate->second) / static_cast<double>(planes(id));
  return static_cast<double>(of_all) / static_cast<double>(plan.jobs.size());
}

std::vector<std::size_t> places_of(const Plan& plan, const std::vector<std::string>& names) {
  std::vector<std::size_t> places;
  if (names.empty())
    for (std::size_t i = 0; i < plan.ports.size(); ++i) places.push_back(i);
  for (const std::string& name : names) {
    const std::size_t place = port_index(plan, name);
    if (std::find(places.begin(), places.end(), place) == places.end()) places.push_back(place);
  }
  return places;
}

}  // namespace tributary::loadgen
