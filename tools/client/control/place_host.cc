// `tributary place-host`: a root chooses the completion hosts of a job anew.
#include <charconv>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "tools/client/commands.h"
#include "tools/client/control/control_client.h"

namespace tributary::client {
namespace {

struct PlaceHostOptions {
  std::uint32_t job = 0;
  std::vector<std::string> loads;
  std::vector<std::string> candidates;
  std::string socket = kDefaultSocket;
};

// HOST=LOAD
void add_load(const std::string& text, Json& loads) {
  const std::size_t equals = text.find('=');
  std::uint32_t load = 0;
  const char* const end = text.data() + text.size();
  const char* const digits = equals == std::string::npos ? end : text.data() + equals + 1;
  const auto [stop, error] = std::from_chars(digits, end, load);
  if (equals == 0 || digits == end || error != std::errc() || stop != end)
    throw std::invalid_argument("--load " + text +
                                ": expected HOST=LOAD, LOAD a number from 0 to 4294967295");
  loads[text.substr(0, equals)] = load;
}

void place_host(const PlaceHostOptions& options) {
  Json request{{"command", "place-host"}, {"job", options.job}};
  Json loads = Json::object();
  for (const std::string& text : options.loads) add_load(text, loads);
  if (!loads.empty()) request["loads"] = loads;
  if (!options.candidates.empty()) request["candidates"] = options.candidates;
  const Json data = ask_switch(options.socket, request);
  if (!data.is_object() || !data.contains("hosts") || !data["hosts"].is_array())
    throw ControlError("the answer from " + options.socket + " does not say which hosts serve");
  std::cout << render_table(data["hosts"], "no hosts");
}

void add_command(cli::App& app, const std::string& name, const std::string& group) {
  auto options = std::make_shared<PlaceHostOptions>();
  cli::App* command =
      app.add_subcommand(name, "Have a root switch choose a job's completion hosts anew")
          ->group(group);
  command->add_option("JOB", options->job, "The job's id")->required();
  command
      ->add_option("--load", options->loads,
                   "Load of a host, in any unit, the same for all; for host_choice: least_load. "
                   "Again for each host")
      ->type_name("HOST=LOAD")
      ->allow_extra_args(false);
  command
      ->add_option("--candidate", options->candidates,
                   "A host that the root may pick; for host_choice: two_stage. Again for each")
      ->type_name("HOST")
      ->allow_extra_args(false);
  command->add_option("--socket", options->socket, "Control socket of the job's root switch")
      ->capture_default_str()
      ->type_name("PATH");
  command->footer(
      "Ops that run go on: the new host hears of every open chunk, and workers bring what it "
      "lacks.\n"
      "Example:\n  tributary place-host 1 --load A=70 --load B=20");
  command->callback([options] { place_host(*options); });
}

}  // namespace

void add_place_host(cli::App& app) {
  add_command(app, "place-host", "Subcommands");
  add_command(app, "elect", "");  // its former name, which help does not show
}

}  // namespace tributary::client
