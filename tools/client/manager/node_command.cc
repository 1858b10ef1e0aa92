// `tributary node` and `tributary device`: where pods can run.
#include <array>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <memory>

#include "tools/client/commands.h"
#include "tools/client/manager/manager_library.h"
#include "tools/client/manager/manager_options.h"
#include "tools/client/manager/manager_output.h"

namespace tributary::client {
namespace {

// In the largest binary unit of which there is one.
std::string bytes_text(const Json& row, const char* key) {
  // 64 bits are text in this JSON.
  std::uint64_t bytes = std::stoull(row.value(key, "0"));
  std::size_t unit = 0;
  constexpr std::array kUnits = {"", "Ki", "Mi", "Gi", "Ti", "Pi"};
  for (; bytes >= 1024 && unit + 1 < kUnits.size(); ++unit) bytes /= 1024;
  return std::to_string(bytes) + kUnits[unit];
}

std::string share_text(const Json& row, const char* key) {
  return std::to_string(std::lround(row.value(key, 0.0) * 100)) + "%";
}

std::string taints_text(const Json& taints) {
  std::string line;
  for (const Json& taint : taints) {
    const std::string value = harmless(taint.value("value", ""));
    line.append(line.empty() ? "" : ",")
        .append(harmless(taint.value("key", "")))
        .append(value.empty() ? "" : "=" + value)
        .append(":")
        .append(harmless(taint.value("effect", "")));
  }
  return line;
}

Json node_row(const Json& node) {
  return {{"node", node["name"]},
          {"state", node["ready"].get<bool>() ? "Ready" : "NotReady"},
          {"leaf", node["leaf"]},
          {"cpu", node.value("cpu_millis_used", "0") + "/" + node.value("cpu_millis", "0") + "m"},
          {"memory", bytes_text(node, "memory_used") + "/" + bytes_text(node, "memory_bytes")},
          {"cpu_load", share_text(node, "cpu_load")},
          {"devices", node["devices"].size()},
          {"taints", taints_text(node["taints"])}};
}

Json device_row(const Json& node, const Json& device) {
  return {{"device", harmless(node.value("name", "")) + "/" + harmless(device.value("name", ""))},
          {"kind", device["kind"]},
          {"memory", bytes_text(device, "memory_bytes")},
          {"free", bytes_text(device, "free_bytes")},
          {"load", share_text(device, "load")},
          {"pod", device["pod"]},
          {"problem", device["problem"]}};
}

Json nodes_of(const ManagerOptions& options) {
  return call_manager(options.target, "Pods.Nodes", Json::object())["nodes"];
}

}  // namespace

void add_node(cli::App& app) {
  cli::App* const command =
      app.add_subcommand("node", "Nodes that run pods, with what is in use of them");
  const auto options = std::make_shared<ManagerOptions>();
  add_manager_options(*command, *options);
  command->callback([options] {
    const Json nodes = nodes_of(*options);
    if (options->json) return print_json(nodes);
    Json rows = Json::array();
    for (const Json& node : nodes) rows.push_back(node_row(node));
    std::cout << render_table(rows, "no nodes: tributary-agentd --node NAME makes one");
  });
}

void add_device(cli::App& app) {
  cli::App* const command =
      app.add_subcommand("device", "Devices of all nodes, their load, and the pods that hold them");
  const auto options = std::make_shared<ManagerOptions>();
  add_manager_options(*command, *options);
  command->callback([options] {
    Json rows = Json::array();
    for (const Json& node : nodes_of(*options))
      for (const Json& device : node["devices"]) rows.push_back(device_row(node, device));
    if (options->json) return print_json(rows);
    std::cout << render_table(rows, "no devices");
  });
}

}  // namespace tributary::client
