// `tributary pod`: create, list, describe and delete pods of a manager, in kubectl's words.
#include <cmath>
#include <cstdint>
#include <iostream>
#include <memory>
#include <sstream>

#include "config/text/file.h"
#include "tools/client/commands.h"
#include "tools/client/manager/manager_library.h"
#include "tools/client/manager/manager_options.h"
#include "tools/client/manager/manager_output.h"

namespace tributary::client {
namespace {

struct PodCommand : ManagerOptions {
  std::string name;
  std::string container;
  std::uint32_t lines = 1000;
  double timeout_s = 60;
  bool wait = false;
  bool group = false;
};
using Options = std::shared_ptr<PodCommand>;

std::string text(const Json& row, const char* key) {
  return harmless(row.value(key, ""));
}

std::string joined(const Json& words) {
  std::string line;
  for (const Json& word : words)
    line.append(line.empty() ? "" : ",").append(harmless(word.get<std::string>()));
  return line;
}

unsigned restarts_of(const Json& pod) {
  unsigned restarts = 0;
  for (const Json& one : pod["containers"]) restarts += one["restarts"].get<unsigned>();
  return restarts;
}

Json row_of(const Json& pod) {
  return {{"pod", pod["name"]},
          {"phase", pod["deleting"].get<bool>() ? "Terminating" : text(pod, "phase")},
          {"node", pod["node"]},
          {"devices", joined(pod["devices"])},
          {"restarts", restarts_of(pod)},
          {"message", pod["message"]}};
}

std::string sentence(const Json& pod) {
  std::string line = "pod/" + text(pod, "name") + ": " + text(pod, "phase");
  if (!text(pod, "node").empty()) line += " on " + text(pod, "node");
  if (!pod["devices"].empty()) line += ", devices " + joined(pod["devices"]);
  if (text(pod, "phase") != "Running" && !text(pod, "message").empty())
    line += ": " + text(pod, "message");
  return line;
}

Json wait_for(const PodCommand& options, const std::string& name, bool gone) {
  return call_manager(options.target, "Pods.Wait", {{"name", name}, {"gone", gone}},
                      options.timeout_s);
}

void create(const PodCommand& options) {
  const Json reply =
      call_manager(options.target, "Pods.Create",
                   {{"manifest", config::read_file(options.name)}, {"file_name", options.name}});
  Json pods = Json::array();
  for (const Json& object : reply["created"]) {
    const auto full = object.get<std::string>();
    if (!options.json) std::cout << harmless(full) << " created" << std::endl;
    const std::string prefix = "pod/";
    if (options.wait && full.starts_with(prefix))
      pods.push_back(wait_for(options, full.substr(prefix.size()), false)["pod"]);
  }
  if (options.json) return print_json(options.wait ? pods : reply["created"]);
  for (const Json& pod : pods) std::cout << sentence(pod) << '\n';
}

std::string percent_text(const Json& share) {
  return std::to_string(std::lround(share.get<double>() * 100)) + "%";
}

// Returns "" for a share that is unknown.
std::string percent_of(const Json& row, const char* key) {
  return row.contains(key) && !row[key].is_null() ? percent_text(row[key]) : "";
}

Json row_of_group(const Json& group) {
  return {{"group", group["name"]},
          {"min_count", group["min_count"]},
          {"pods", group["pods"]},
          {"running", group["running"]},
          {"cpu", percent_of(group, "cpu")},
          {"devices", group["devices"]},
          {"load", percent_of(group, "load")}};
}

void get_groups(const PodCommand& options) {
  const Json reply = call_manager(options.target, "Pods.List", Json::object());
  Json groups = Json::array();
  for (const Json& group : reply["groups"])
    if (options.name.empty() || group["name"] == options.name) groups.push_back(group);
  if (!options.name.empty() && groups.empty())
    throw std::runtime_error("there is no podgroup " + options.name);
  if (options.json) return print_json(options.name.empty() ? groups : groups[0]);
  Json rows = Json::array();
  for (const Json& group : groups) rows.push_back(row_of_group(group));
  std::cout << render_table(rows, "no podgroups");
}

void get(const PodCommand& options) {
  if (options.group) return get_groups(options);
  if (!options.name.empty()) {
    const Json reply = call_manager(options.target, "Pods.Show", {{"name", options.name}});
    if (options.json) return print_json(reply["pod"]);
    std::cout << sentence(reply["pod"]) << '\n';
    return;
  }
  const Json reply = call_manager(options.target, "Pods.List", Json::object());
  if (options.json) return print_json(reply["pods"]);
  Json rows = Json::array();
  for (const Json& pod : reply["pods"]) rows.push_back(row_of(pod));
  std::cout << render_table(rows, "no pods");
}

Json container_rows(const Json& containers) {
  Json rows = Json::array();
  for (const Json& one : containers)
    rows.push_back({{"container", one["name"]},
                    {"state", one["state"]},
                    {"restarts", one["restarts"]},
                    {"exit_code", one["exit_code"]},
                    {"cpu", percent_of(one, "cpu")},
                    {"message", one["message"]}});
  return rows;
}

void print_lines(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) std::cout << harmless(line) << '\n';
}

void describe(const PodCommand& options) {
  const Json reply = call_manager(options.target, "Pods.Show", {{"name", options.name}});
  if (options.json) return print_json(reply);
  const Json& pod = reply["pod"];
  std::cout << sentence(pod) << "\ninstance " << text(pod, "instance");
  if (!text(pod, "group").empty()) std::cout << ", group " << text(pod, "group");
  if (const auto seat = pod.find("seat"); seat != pod.end() && seat->is_object())
    std::cout << "\njob " << text(*seat, "job") << ", id " << (*seat)["id"] << ", rank "
              << (*seat)["rank"] << " of " << (*seat)["size"] << ", port " << text(*seat, "port");
  const bool scheduled = !text(pod, "node").empty();
  std::cout << "\nPodScheduled " << (scheduled ? "True" : "False") << ", reason "
            << text(pod, "reason") << "\n\n"
            << render_table(container_rows(pod["containers"]), "no container yet") << '\n';
  Json rows = Json::array();
  for (const Json& event : reply["events"])
    rows.push_back(
        {{"time", time_text(event)}, {"event", event["kind"]}, {"message", event["message"]}});
  std::cout << render_table(rows, "no events since the manager's start") << '\n';
  print_lines(reply.value("manifest", ""));
}

void logs(const PodCommand& options) {
  const Json reply = call_manager(
      options.target, "Pods.Logs",
      {{"name", options.name}, {"container", options.container}, {"lines", options.lines}});
  if (options.json) return print_json(reply);
  print_lines(reply.value("text", ""));
}

void remove(const PodCommand& options) {
  const Json reply = call_manager(options.target, "Pods.Delete",
                                  {{"name", options.name}, {"group", options.group}});
  const bool waited = options.wait && !reply["gone"].get<bool>();
  if (waited) static_cast<void>(wait_for(options, options.name, true));
  if (options.json) return print_json(reply);
  std::cout << (options.group ? "podgroup/" : "pod/") << harmless(options.name)
            << (waited || reply["gone"].get<bool>() ? " deleted\n" : " is being deleted\n");
}

cli::App* add(cli::App& parent, const Options& options, const char* name, const char* help) {
  cli::App* const command = parent.add_subcommand(name, help);
  add_manager_options(*command, *options);
  return command;
}

void add_wait(cli::App& command, const Options& options, const char* help) {
  command.add_flag("--wait", options->wait, help);
  command.add_option("--timeout", options->timeout_s, "Time limit of --wait, in seconds")
      ->check(cli::range(0.001, 1e6))
      ->type_name("SECONDS")
      ->capture_default_str();
}

}  // namespace

void add_pod(cli::App& app) {
  cli::App* const pod = app.add_subcommand("pod", "Containers that a manager places on devices");
  pod->require_subcommand(1);
  const auto options = std::make_shared<PodCommand>();
  cli::App* const creating = add(*pod, options, "create", "Place what a manifest describes");
  creating->add_option("FILE", options->name, "Manifest, YAML or JSON")->required();
  add_wait(*creating, options, "Return when all pods have started");
  creating->callback([options] { create(*options); });
  cli::App* const getting = add(*pod, options, "get", "All pods or groups, or one");
  getting->add_option("NAME", options->name, "Its name");
  getting->add_flag("--group", options->group, "PodGroups, with what they use together");
  getting->callback([options] { get(*options); });
  cli::App* const describing =
      add(*pod, options, "describe", "One pod: its place, why, containers, events, manifest");
  describing->add_option("POD", options->name, "Its name")->required();
  describing->callback([options] { describe(*options); });
  cli::App* const reading =
      add(*pod, options, "logs", "The last lines that a container of a pod has printed");
  reading->add_option("POD", options->name, "Its name")->required();
  reading->add_option("--container", options->container, "Its name; default: the first")
      ->type_name("NAME");
  reading->add_option("--lines", options->lines, "The last so many")
      ->check(cli::range(std::uint32_t{1}, std::uint32_t{1000}))
      ->type_name("N")
      ->capture_default_str();
  reading->callback([options] { logs(*options); });
  cli::App* const deleting = add(*pod, options, "delete", "End a pod and free what it holds");
  deleting->add_option("NAME", options->name, "Its name")->required();
  deleting->add_flag("--group", options->group, "The name is a PodGroup's");
  add_wait(*deleting, options, "Return when its record is gone");
  deleting->callback([options] { remove(*options); });
  pod->footer(
      "Examples:\n"
      "  tributary pod create train.yaml --wait\n"
      "  tributary pod describe train-0\n"
      "  tributary pod logs train-0 --lines 20\n"
      "  tributary pod delete train-0 --wait");
}

}  // namespace tributary::client
