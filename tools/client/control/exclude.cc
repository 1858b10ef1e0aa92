// `tributary exclude` and `tributary reinstate`: which ranks a switch waits for.
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>

#include "tools/client/commands.h"
#include "tools/client/control/control_client.h"

namespace tributary::client {
namespace {

struct ExcludeOptions {
  std::uint32_t job = 0;
  std::uint32_t rank = 0;
  std::optional<std::uint32_t> from;
  std::string socket = kDefaultSocket;
};

void ask(const char* command, const ExcludeOptions& options) {
  Json request{{"command", command}, {"job", options.job}, {"rank", options.rank}};
  if (options.from) request["from"] = *options.from;
  const Json data = ask_switch(options.socket, request);
  if (!data.is_object() || !data.contains("from"))
    throw ControlError("the answer from " + options.socket + " does not say from which op on");
  std::cout << "rank " << options.rank << " of job " << options.job
            << (command[0] == 'e' ? " is excluded" : " takes part") << " from op "
            << data["from"].dump() << " on\n";
}

void add_command(cli::App& app, const char* name, const char* what, const char* footer) {
  auto options = std::make_shared<ExcludeOptions>();
  cli::App* command = app.add_subcommand(name, what);
  command->add_option("JOB", options->job, "The job's id")->required();
  command->add_option("RANK", options->rank, "A rank that is attached to this switch itself")
      ->required();
  command
      ->add_option("--from", options->from,
                   "The first op that it concerns. Left out: the first that has not begun")
      ->type_name("OP");
  command->add_option("--socket", options->socket, "Control socket of the switch")
      ->capture_default_str()
      ->type_name("PATH");
  command->footer(footer);
  command->callback([options, name] { ask(name, *options); });
}

}  // namespace

void add_exclude(cli::App& app) {
  add_command(app, "exclude", "Have a switch sum without waiting for a rank",
              "Results stay exact: the rank's data goes to the completion engine. It holds until "
              "the rank is\nreinstated, or the job's epoch ends.\n"
              "Example:\n  tributary exclude 1 3 --from 500");
  add_command(app, "reinstate", "Have a switch wait for an excluded rank again",
              "Example:\n  tributary reinstate 1 3");
}

}  // namespace tributary::client
