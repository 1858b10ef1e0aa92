// `tributary get`: a value by its name, from the switch's cache or from its producer.
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>

#include "core/wire/data_name.h"
#include "tools/client/commands.h"
#include "tools/program/output_file.h"
#include "worker/names/name_reader.h"

namespace tributary::client {
namespace {

struct GetOptions {
  std::string name;
  std::string run;
  std::string output;
  std::string address;
  double timeout_seconds = 10;
};

std::string full_name(const GetOptions& options) {
  wire::DataName name;
  const char* const wrong = wire::parse_name(options.name, name);
  if (wrong != nullptr || options.run.empty()) return options.name;  // which says why
  if (!name.run.empty())
    throw std::invalid_argument("--run " + options.run + ": the name says run=" +
                                std::string(name.run) + "; allowed: one of the two");
  name.run = options.run;
  wire::NameBuffer room;
  return std::string(wire::write_name(name, room));
}

std::string address_of(const GetOptions& options) {
  if (!options.address.empty()) return options.address;
  const char* const given = std::getenv("TRIBUTARY_ADDRESS");
  if (given == nullptr)
    throw std::invalid_argument(
        "--address is missing; allowed: a switch's address, here or in "
        "TRIBUTARY_ADDRESS");
  return given;
}

void get(const GetOptions& options) {
  const auto value =
      worker::read_by_name({address_of(options), full_name(options),
                            Duration::ns(std::llround(options.timeout_seconds * 1e9))});
  tools::write_file(options.output, {value});
  std::cout << value.size() << " bytes: " << options.output << '\n';
}

}  // namespace

void add_get(cli::App& app) {
  auto options = std::make_shared<GetOptions>();
  cli::App* command = app.add_subcommand("get", "Get a value by its name");
  command
      ->add_option("NAME", options->name,
                   "/job/JOB/run=RUN/TENSOR/v=VERSION; with /seg=N, that segment alone; with\n"
                   "/worker=RANK, that rank's")
      ->required();
  command
      ->add_option("--output,-o", options->output, "File for the value; of Python's arrays, .npy")
      ->required()
      ->type_name("FILE");
  command
      ->add_option("--address", options->address,
                   "Where the switch is: udp://IPV4[:PORT]. Left out: TRIBUTARY_ADDRESS")
      ->type_name("URL");
  command->add_option("--run", options->run, "Incarnation of the job, where the name says none")
      ->type_name("RUN");
  command->add_option("--timeout", options->timeout_seconds, "Longest wait")
      ->check(cli::range(0.001, 1e6))
      ->capture_default_str()
      ->type_name("SECONDS");
  command->footer(
      "This host must be listed in the job's `names.readers`.\n"
      "Example:\n  tributary get /job/7/run=513/grad/v=12 -o x.npy --address udp://10.77.0.254");
  command->callback([options] { get(*options); });
}

}  // namespace tributary::client
