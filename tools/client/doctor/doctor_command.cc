// `tributary doctor`: what keeps this host, its way to a switch, or a switch on it from working.
#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "tools/client/commands.h"
#include "tools/client/control/control_client.h"
#include "tools/client/doctor/host.h"
#include "tools/client/doctor/job_state.h"
#include "tools/client/doctor/switch_state.h"
#include "tools/client/doctor/udp_way.h"
#include "tools/client/manager/cluster_state.h"
#include "tools/client/manager/manager_library.h"
#include "worker/transport/memif_address.h"

namespace tributary::client {
namespace {

struct DoctorOptions {
  std::string address;
  std::uint32_t job = 1;
  std::uint32_t rank = wire::kUnknownRank;
  std::uint32_t chunk_bytes = 0;
  std::string socket = kDefaultSocket;
  manager::Target manager{"", "", "", ""};  // no address: not asked
  bool json = false;
};

void add(Findings& to, Findings more) {
  to.insert(to.end(), more.begin(), more.end());
}

[[noreturn]] void refuse_address(const std::string& address) {
  throw cli::UsageError("--address",
                        "'" + address + "': allowed: udp://SWITCH_IPV4[:PORT], or memif://...");
}

// The drops of a switch on this host. One that does not answer is told of in check_switch().
DropsLook look_at_drops(const std::string& socket) {
  const auto rows = [&](const char* what) {
    return ask_switch(socket, Json{{"command", "show"}, {"what", what}});
  };
  try {
    return {rows("drops"), rows("acl")};
  } catch (const ControlError&) {
    return {};
  }
}

void check_address(const DoctorOptions& options, bool has_switch, Findings& found) {
  if (options.address.starts_with("udp://")) {
    std::optional<UdpWay> way = parse_udp_way(options.address);
    if (!way) refuse_address(options.address);
    way->job = options.job;
    way->rank = options.rank;
    way->chunk_bytes = options.chunk_bytes;
    std::function<DropsLook()> drops;
    if (has_switch) drops = [&] { return look_at_drops(options.socket); };
    return add(found, check_udp_way(*way, drops));
  }
  if (!options.address.starts_with("memif://")) refuse_address(options.address);
  try {
    add(found, judge_memif_socket(worker::parse_memif_address(options.address, 1, 0).socket));
  } catch (const std::invalid_argument& e) {
    throw cli::UsageError("--address", e.what());
  }
}

// A switch on this host, by its control socket.
void check_switch(const std::string& socket, Findings& found) {
  const auto rows = [&](const char* what) {
    return ask_switch(socket, Json{{"command", "show"}, {"what", what}});
  };
  try {
    add(found, judge_ports(rows("ports")));
    const Json jobs = rows("jobs");
    const Json tree = rows("tree");
    add(found, judge_jobs(jobs, tree));
    add(found, judge_tree(tree, jobs));
    add(found, judge_stragglers(rows("stragglers"), jobs));
    add(found, judge_neighbours(rows("neighbours")));
    add(found, judge_drops(rows("drops")));
  } catch (const ControlError& e) {
    found.push_back({Finding::Level::error, "control socket", e.what(), ""});
  }
}

bool exists(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0;
}

void print_json(const Findings& findings) {
  Json rows = Json::array();
  for (const Finding& f : findings)
    rows.push_back({{"level", name_of(f.level)},
                    {"subject", f.subject},
                    {"state", f.state},
                    {"remedy", f.remedy.empty() ? Json() : Json(f.remedy)}});
  std::cout << rows.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
}

int run(const DoctorOptions& options) {
  Findings found;
  const bool has_switch = options.socket != kDefaultSocket || exists(options.socket);
  add(found, judge(look_at_host(), options.address.empty() || has_switch));
  if (!options.address.empty()) check_address(options, has_switch, found);
  if (has_switch) check_switch(options.socket, found);
  if (!options.manager.address.empty()) add(found, look_at_manager(options.manager));
  if (options.json)
    print_json(found);
  else
    std::cout << text_of(found);
  return has_errors(found) ? kExitFailed : 0;
}

}  // namespace

void add_doctor(cli::App& app, int& exit_status) {
  auto options = std::make_shared<DoctorOptions>();
  cli::App* command =
      app.add_subcommand("doctor", "Say what keeps this host or its switch from working");
  command->add_option("--address", options->address,
                      "The switch as a worker on this host names it: udp:// or memif://");
  command->add_option("--job", options->job, "The job that the worker wants to join")
      ->capture_default_str();
  command->add_option("--rank", options->rank,
                      "The worker's rank: whether this is its switch, in a tree of several");
  command->add_option("--chunk-bytes", options->chunk_bytes,
                      "The job's chunk_bytes, for the MTU. Left out: the switch is asked");
  command->add_option("--socket", options->socket, "Control socket of a switch on this host")
      ->capture_default_str()
      ->type_name("PATH");
  command
      ->add_option("--manager", options->manager.address,
                   "The cluster's manager, unix:PATH or HOST:PORT: its switches and jobs, too. "
                   "Tried for " +
                       std::to_string(kCallSeconds) + " s")
      ->type_name("ADDRESS");
  command->add_option("--tls-ca", options->manager.ca, "PEM of its authority, for HOST:PORT")
      ->type_name("PATH");
  command->add_option("--tls-cert", options->manager.certificate, "PEM of the own certificate")
      ->type_name("PATH");
  command->add_option("--tls-key", options->manager.key, "PEM of its key")->type_name("PATH");
  command->add_flag("--json", options->json, "Findings as JSON");
  command->footer(
      "Joins no job and changes nothing. Exit status: 1 where something keeps a job from working.\n"
      "Example:\n  tributary doctor --address udp://10.77.0.254 --job 1 --rank 0");
  command->callback([options, &exit_status] { exit_status = run(*options); });
}

}  // namespace tributary::client
