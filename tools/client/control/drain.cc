// `tributary drain`: a switch's jobs pause, without an op that fails, until they are let go on.
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "tools/client/commands.h"
#include "tools/client/control/control_client.h"

namespace tributary::client {
namespace {

// The switch answers when the epochs are over.
constexpr Duration kPatience = Duration::seconds(90);  // beyond the longest switch.drain_time

struct DrainOptions {
  std::vector<std::uint32_t> jobs;
  bool undo = false;
  std::string socket = kDefaultSocket;
};

void ask(const DrainOptions& options) {
  Json request{{"command", "drain"}, {"undo", options.undo}};
  if (!options.jobs.empty()) request["jobs"] = options.jobs;
  const Json data = ask_switch(options.socket, request, kPatience);
  if (!data.is_object() || !data.contains("jobs") || !data["jobs"].is_array())
    throw ControlError("the answer from " + options.socket + " does not say which jobs");
  for (const Json& job : data["jobs"])
    std::cout << "job " << job.dump() << (options.undo ? ": goes on\n" : ": drained\n");
  if (data["jobs"].empty()) std::cout << "no jobs\n";
}

}  // namespace

void add_drain(cli::App& app) {
  auto options = std::make_shared<DrainOptions>();
  cli::App* command =
      app.add_subcommand("drain", "Have a switch's jobs pause, for its maintenance");
  command->add_option("JOB", options->jobs, "Ids of jobs. Left out: all of the switch");
  command->add_flag("--undo", options->undo, "Let them go on");
  command->add_option("--socket", options->socket, "Control socket of the switch")
      ->capture_default_str()
      ->type_name("PATH");
  command->footer(
      "Ranks finish the ops that have begun, for at most switch.drain_time (10 s); no op fails. "
      "They\n"
      "wait then, each for at most its op_timeout, until the job is let go on, or the switch is\n"
      "started again.\n"
      "Examples:\n"
      "  tributary drain && systemctl restart tributary-switchd\n"
      "  tributary drain 1 --undo");
  command->callback([options] { ask(*options); });
}

}  // namespace tributary::client
