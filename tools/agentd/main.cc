// tributary-agentd: the manager's agent on a node. Above, one stream for each local switch to the
// manager, and with --node one for the node's pods; below, the switches' control sockets and
// podman. The switches themselves know no gRPC.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "config/text/error.h"
#include "config/text/file.h"
#include "manager/pods/names.h"
#include "manager/pods/quantity.h"
#include "tools/agentd/link.h"
#include "tools/agentd/pods/declared_devices.h"
#include "tools/agentd/pods/node_link.h"
#include "tools/cli/app.h"
#include "tools/daemon/daemon.h"
#include "tools/daemon/log.h"

namespace tributary::agentd {
namespace {

struct Options {
  manager::Target manager;
  std::vector<std::string> switches = {"/run/tributary/switchd.sock"};
  std::string state = "/var/lib/tributary-agent";
  NodeOptions node;
  bool check = false;
  std::string log_level = "info";
  std::string log_format = "text";
  int ready_fd = -1;
};

// The agent itself reads the file again each second, and goes on where it has mistakes.
int check(const std::string& file) {
  if (file.empty()) throw std::invalid_argument("--check: allowed with --devices");
  const auto devices = parse_declared_devices(config::read_file(file), file);
  std::printf("%s: good, %zu devices\n", file.c_str(), devices.size());
  return 0;
}

int run(const Options& options) {
  try {
    if (options.check) return check(options.node.devices);
    tools::Daemon daemon;
    std::filesystem::create_directories(options.state);
    Terms terms(options.state + "/term");
    std::vector<std::unique_ptr<Link>> links;
    for (const std::string& socket : options.switches)
      links.push_back(std::make_unique<Link>(options.manager, socket, options.state, terms));
    std::unique_ptr<NodeLink> node;
    if (!options.node.name.empty())
      node = std::make_unique<NodeLink>(options.manager, options.node, options.state, terms);
    std::printf("%zu switches, %s, manager %s\n", links.size(),
                node ? ("node " + options.node.name).c_str() : "no node",
                options.manager.address.c_str());
    daemon.announce_ready(options.ready_fd);
    daemon.wait({{}, [&] {
                   std::uint64_t turns = node ? node->turns() : 0;
                   for (const auto& link : links) turns += link->turns();
                   return turns;
                 }});
    return 0;
  } catch (const config::ConfigErrors& errors) {
    tools::report_end(errors.what());
    return 1;
  } catch (const std::invalid_argument& error) {
    tools::report_end(std::string("tributary-agentd: ") + error.what());
    return cli::kExitUsage;
  } catch (const std::exception& error) {
    tools::report_end(std::string("tributary-agentd: ") + error.what());
    return 1;
  }
}

void read_name(const std::string& text, std::string& name) {
  if (!manager::is_name(text))
    throw cli::UsageError("--node", std::string("allowed: ") + manager::kAllowedNames);
  name = text;
}

void read_network(const std::string& text, std::string& network) {
  if (text != "none" && text != "bridge" && !text.starts_with("ns:/"))
    throw cli::UsageError("--network", "allowed: none, bridge or ns:PATH");
  network = text;
}

std::uint64_t read_bytes(const std::string& text) {
  const auto bytes = manager::parse_bytes(text);
  if (!bytes || *bytes == 0)
    throw cli::UsageError("--ephemeral-storage", "allowed: an amount of bytes such as 10Gi");
  return *bytes;
}

void add_node_options(cli::App& app, NodeOptions& node) {
  app.add_parsed(
         "--node", [&node](const std::string& text) { read_name(text, node.name); },
         "run the pods of this node; left out: none")
      ->type_name("NAME");
  app.add_option("--leaf", node.leaf,
                 "switch that the node is attached to; default: of the worker of that name")
      ->type_name("SWITCH");
  app.add_option("--podman", node.podman, "socket of podman's service")
      ->type_name("PATH")
      ->capture_default_str();
  app.add_option("--roots", node.roots, "folder of the root file systems that pods name")
      ->type_name("PATH")
      ->capture_default_str();
  app.add_option("--devices", node.devices, "file of declared devices")->type_name("FILE");
  app.add_option("--cdi", node.cdi, "folder for the files that describe devices to podman")
      ->type_name("PATH")
      ->capture_default_str();
  app.add_parsed(
         "--network", [&node](const std::string& text) { read_network(text, node.network); },
         "of the containers: none, bridge or ns:PATH")
      ->type_name("NETWORK")
      ->default_str(node.network);
  app.add_option("--taint", node.taints, "keep pods away that do not tolerate it; may be repeated")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE:EFFECT");
  app.add_option("--pids", node.pids, "processes and threads that a container may have")
      ->check(cli::range(std::uint64_t{1}, std::uint64_t{1} << 20))
      ->capture_default_str();
  app.add_parsed(
         "--ephemeral-storage", [&node](const std::string& text) { node.disk = read_bytes(text); },
         "what a container may write, unless it says; such as 10Gi")
      ->type_name("BYTES")
      ->default_str(manager::format_bytes(node.disk));
}

}  // namespace
}  // namespace tributary::agentd

int main(int argc, char** argv) {
  namespace tools = tributary::tools;
  tributary::cli::App app("Tributary agent: brings a manager's decisions to this node's switches",
                          "tributary-agentd");
  tributary::agentd::Options options;
  app.add_option("--manager", options.manager.address,
                 "unix:PATH or HOST:PORT; several with commas between")
      ->capture_default_str();
  auto* const switches =
      app.add_option(
             "--switch", options.switches,
             "control socket of a local switch; may be repeated; with --node, none by default")
          ->type_name("PATH");
  app.add_option("--state", options.state, "folder for the highest term and the documents")
      ->capture_default_str();
  tributary::agentd::add_node_options(app, options.node);
  app.add_option("--tls-ca", options.manager.ca, "PEM of the manager's authority");
  app.add_option("--tls-cert", options.manager.certificate, "PEM of the own certificate");
  app.add_option("--tls-key", options.manager.key, "PEM of its key");
  app.add_flag("--check", options.check, "check the file of --devices, print every mistake, exit");
  app.add_option("--log-level", options.log_level, "leave out lines that are less important")
      ->check(tributary::cli::is_member({"error", "warning", "notice", "info"}));
  app.add_option("--log-format", options.log_format, "format of the log on standard error")
      ->check(tributary::cli::is_member({"text", "json"}));
  app.add_ready_fd(options.ready_fd);
  app.set_version_flag("--version", std::string("tributary-agentd ") + TRIBUTARY_VERSION);
  if (const auto status = app.run(argc, argv)) return *status;
  if (!options.node.name.empty() && switches->count() == 0) options.switches.clear();
  tools::set_log({*tributary::parse_log_level(options.log_level),
                  options.log_format == "json" ? tools::LogFormat::json : tools::LogFormat::text});
  return tributary::agentd::run(options);
}
