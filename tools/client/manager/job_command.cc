// `tributary job`: submit, list, show and cancel jobs of a manager, and what it has decided.
#include <cstdint>
#include <iostream>
#include <memory>

#include "config/text/file.h"
#include "tools/client/commands.h"
#include "tools/client/manager/manager_library.h"
#include "tools/client/manager/manager_options.h"
#include "tools/client/manager/manager_output.h"

namespace tributary::client {
namespace {

struct JobCommand : ManagerOptions {
  std::string name;
  std::string uplink;
  std::string reason;
  double timeout_s = 60;
  bool wait = false;
  bool undo = false;
};
using Options = std::shared_ptr<JobCommand>;

std::string text(const Json& row, const char* key) {
  return harmless(row.value(key, ""));
}

std::string state_of(const Json& job) {
  std::string state = text(job, "state");
  for (char& c : state) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return state;
}

Json row_of(const Json& job) {
  return {{"job", job["name"]},           {"id", job["id"]},
          {"tenant", job["tenant"]},      {"state", state_of(job)},
          {"workers", job["workers"]},    {"priority", job["priority"]},
          {"waits_for", job["waits_for"]}};
}

std::string sentence(const Json& job) {
  const std::string state = state_of(job);
  std::string line = text(job, "name") + ": " + state;
  if (state == "queued") return line + ": " + text(job, "waits_for");
  line += ", id " + job["id"].dump();
  if (state == "starting") line += ", waits for " + text(job, "waits_for");
  return line;
}

// The hosts that finish chunks, and why, where that is not the root alone.
void print_hosts(const Json& job) {
  Json rows = job.value("completion", Json::array());
  if (rows.empty()) return;
  const std::string ranking = text(rows[0], "ranking");
  for (Json& row : rows) row.erase("ranking");
  std::cout << '\n' << render_table(rows, "");
  if (!ranking.empty()) std::cout << "ranked by the manager: " << ranking << '\n';
}

void print_job(const Json& job) {
  std::cout << sentence(job) << "\ntenant " << text(job, "tenant") << ", priority "
            << job["priority"].dump() << ", " << job["workers"].dump() << " workers\n\n";
  std::cout << render_table(job["members"], "no member has a place yet") << '\n'
            << render_table(job["switches"], "no switch has a part yet");
  print_hosts(job);
}

void submit(const JobCommand& options) {
  const std::string file = config::read_file(options.name);
  const Json request = {{"request", file}, {"file_name", options.name}};
  Json job = call_manager(options.target, "Jobs.Submit", request);
  if (options.wait && state_of(job) != "running") {
    if (!options.json) std::cout << sentence(job) << std::endl;
    job = wait_until_running(options.target, {text(job, "name")}, options.timeout_s);
  }
  if (options.json)
    print_json(job);
  else
    std::cout << sentence(job) << '\n';
}

void print_events(const JobCommand& options) {
  Json events = call_manager(options.target, "Cluster.Events", Json::object());
  if (options.json) return print_json(events["events"]);
  for (Json& event : events["events"]) {
    event = {{"time", time_text(event)},  {"event", event["kind"]}, {"job", event["job"]},
             {"tenant", event["tenant"]}, {"id", event["id"]},      {"reason", event["reason"]}};
  }
  std::cout << render_table(events["events"], "no events yet");
}

cli::App* add(cli::App& parent, const Options& options, const char* name, const char* help) {
  cli::App* const command = parent.add_subcommand(name, help);
  add_manager_options(*command, *options);
  return command;
}

void add_submit(cli::App& job, const Options& options) {
  cli::App* const command =
      add(job, options, "submit", "Ask for a job: it starts, or waits for its turn");
  command->add_option("FILE", options->name, "The request, YAML")->required();
  command->add_flag("--wait", options->wait, "Return when all its switches have it");
  command->add_option("--timeout", options->timeout_s, "Time limit of --wait, in seconds")
      ->check(cli::range(0.001, 1e6))
      ->type_name("SECONDS")
      ->capture_default_str();
  command->callback([options] { submit(*options); });
}

void add_cancel(cli::App& job, const Options& options) {
  cli::App* const command =
      add(job, options, "cancel", "End a job and free what it has, everywhere");
  command->add_option("JOB", options->name, "Its name")->required();
  command->add_option("--reason", options->reason, "For the event log");
  command->callback([options] {
    const Json told = call_manager(options->target, "Jobs.Cancel",
                                   {{"name", options->name}, {"reason", options->reason}});
    if (options->json) return print_json(told);
    std::cout << text(told, "job") << ": cancelled\n";
  });
}

void add_drain(cli::App& job, const Options& options) {
  cli::App* const command =
      add(job, options, "drain-node", "Give a worker, or all of a switch, no new jobs");
  command->add_option("NAME", options->name, "A worker or a switch")->required();
  command->add_flag("--undo", options->undo, "It gets jobs again");
  command->callback([options] {
    const Json told = call_manager(options->target, "Cluster.Drain",
                                   {{"name", options->name}, {"undo", options->undo}});
    if (options->json) return print_json(told);
    for (const Json& worker : told["workers"])
      std::cout << harmless(worker.get<std::string>())
                << (options->undo ? ": gets jobs again\n" : ": gets no new jobs\n");
    for (const Json& name : told["jobs"])
      std::cout << "job " << harmless(name.get<std::string>()) << " still runs there\n";
  });
}

void add_move(cli::App& job, const Options& options) {
  cli::App* const command =
      add(job, options, "move-switch", "Have a switch use another way up, with all its jobs");
  command->add_option("SWITCH", options->name, "The switch")->required();
  command->add_option("UPLINK", options->uplink, "Its own port of that way")->required();
  command->callback([options] {
    const Json told = call_manager(options->target, "Cluster.Move",
                                   {{"name", options->name}, {"uplink", options->uplink}});
    if (options->json) return print_json(told);
    const std::string waits = text(told, "waits_for");
    std::cout << text(told, "name")
              << (waits.empty() ? ": goes up by " + text(told, "to")
                                : ": moves to " + text(told, "to") + ", and waits for " + waits)
              << '\n';
  });
}

}  // namespace

void add_job(cli::App& app) {
  cli::App* const job = app.add_subcommand("job", "Jobs of a cluster's manager");
  job->require_subcommand(1);
  const auto options = std::make_shared<JobCommand>();
  add_submit(*job, options);
  add(*job, options, "list", "All jobs that run or wait")->callback([options] {
    const Json reply = call_manager(options->target, "Jobs.List", Json::object());
    if (options->json) return print_json(reply["jobs"]);
    Json rows = Json::array();
    for (const Json& one : reply["jobs"]) rows.push_back(row_of(one));
    std::cout << render_table(rows, "no jobs");
  });
  cli::App* const show =
      add(*job, options, "show", "One job: its ranks, where they join, switches");
  show->add_option("JOB", options->name, "Its name")->required();
  show->callback([options] {
    const Json reply = call_manager(options->target, "Jobs.Show", {{"name", options->name}});
    if (options->json) return print_json(reply);
    print_job(reply);
  });
  add_cancel(*job, options);
  add_drain(*job, options);
  add_move(*job, options);
  add(*job, options, "events", "The manager's decisions, and their reasons")->callback([options] {
    print_events(*options);
  });
  job->footer(
      "Examples:\n"
      "  tributary job submit resnet.yaml --wait\n"
      "  tributary job show resnet\n"
      "  tributary job cancel resnet --reason \"wrong data\"");
}

}  // namespace tributary::client
