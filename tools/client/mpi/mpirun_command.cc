// `tributary mpirun -- LAUNCHER-ARGUMENTS... PROGRAM`: starts an MPI program whose collectives go
// through the switch, and fails where the library that takes them there had no effect.
//
//   tributary mpirun ─▶ mpirun ─▶ on each node: tributary mpi-rank ─exec─▶ PROGRAM with LD_PRELOAD
//          ▲                                                                 │
//          └────────────── standard error, with the counts of calls ─────────┘
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string_view>

#include "tools/client/commands.h"
#include "tools/client/mpi/call_report.h"
#include "tools/client/mpi/child.h"
#include "tools/client/mpi/launcher.h"
#include "tools/client/mpi/preload.h"
#include "tools/client/mpi/program_mpi.h"

namespace tributary::client {
namespace {

using Words = std::vector<std::string>;

struct MpirunOptions {
  std::string launcher = "mpirun";
  std::string library;
  Words words;
};

Mpi mpi_of_launcher(const std::string& launcher) {
  if (find_program(launcher).empty())
    throw std::runtime_error("no launcher '" + launcher +
                             "' in PATH: the packages openmpi-bin and mpich have one each; "
                             "--launcher names another");
  const Captured answer = capture({launcher, "--version"});
  const auto mpi = mpi_of_version(answer.output);
  if (!mpi)
    throw std::runtime_error("`" + launcher + " --version` names neither Open MPI nor MPICH: " +
                             answer.output.substr(0, answer.output.find('\n')));
  return *mpi;
}

// The launcher's and the programs' MPI must be the same.
void check_program(Mpi mpi, const MpirunOptions& options, const LaunchPart& part) {
  const std::string& name = part.program[0];
  if (find_program(name).empty()) {
    if (moves_program(part)) return;  // its node says if there is none
    throw cli::UsageError(name, "no such program; the launcher's arguments end in front of it");
  }
  const ProgramMpi uses = mpi_of_program(name);
  if (uses.mpi && *uses.mpi != mpi)
    throw std::runtime_error(options.launcher + " starts programs of " + display_name(mpi) + ", " +
                             name + " is one of " + display_name(*uses.mpi) + " (" + uses.seen_in +
                             "): name its launcher, such as --launcher mpirun." +
                             name_of(*uses.mpi));
}

bool is_set(const std::vector<LaunchPart>& parts, const char* name) {
  const char* const own = std::getenv(name);
  return (own != nullptr && *own != '\0') || variable_in(parts, name);
}

void check_settings(const std::vector<LaunchPart>& parts) {
  if (!is_set(parts, "TRIBUTARY_ADDRESS"))
    throw cli::UsageError("TRIBUTARY_ADDRESS",
                          "not set: the switch's address, such as udp://10.77.0.254");
  if (!is_set(parts, "TRIBUTARY_JOBS") && !is_set(parts, "TRIBUTARY_JOB"))
    throw cli::UsageError("TRIBUTARY_JOBS",
                          "not set: the switch's jobs that the program may use, "
                          "such as 1,4-7");
}

// The TRIBUTARY_ variables of this process that the command line doesn't set itself.
Words variables_for_ranks(const std::vector<LaunchPart>& parts) {
  Words variables = {"TRIBUTARY_MPI_COUNTS=1"};
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string text = *variable;
    const std::string name = text.substr(0, text.find('='));
    if (name.starts_with("TRIBUTARY_") && name != "TRIBUTARY_MPI_COUNTS" &&
        !variable_in(parts, name))
      variables.push_back(text);
  }
  return variables;
}

std::string absolute(const std::string& path) {
  return std::filesystem::absolute(path);
}

void write_error(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(STDERR_FILENO, text.data(), text.size());
    if (n <= 0) return;  // standard error may be closed
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

// The exit status: the launcher's, or 1 where the library had no effect.
int conclude(const CallReport& report, int status) {
  if (report.counted()) {
    write_error(report.summary());
  } else if (status == 0 && !report.reached()) {
    write_error(
        "tributary: no rank's MPI_Init reached the library: every call went to MPI. Is the program "
        "one of MPI? Does a launcher's option write standard error elsewhere?\n");
    return kExitFailed;
  } else if (report.reached()) {
    write_error("tributary: no rank 0 called MPI_Finalize: its calls are not counted\n");
  }
  return status;
}

int run(const MpirunOptions& options) {
  const Mpi mpi = mpi_of_launcher(options.launcher);
  const auto parts = split_launch(
      mpi, options.words, [](const std::string& word) { return !find_program(word).empty(); });
  check_settings(parts);
  for (const LaunchPart& part : parts) check_program(mpi, options, part);
  find_preload(mpi, options.library);
  Words in_front = {own_path(), "mpi-rank", name_of(mpi)};
  if (!options.library.empty()) in_front.push_back("--library=" + absolute(options.library));
  in_front.emplace_back("--");
  const Words variables = variables_for_ranks(parts);
  std::cout.flush();
  CallReport report(write_error);
  const int status = run_relayed(launch_words(mpi, options.launcher, parts, variables, in_front),
                                 variables, [&](std::string_view bytes) { report.take(bytes); });
  report.finish();
  return conclude(report, status);
}

}  // namespace

void add_mpirun(cli::App& app, const PassedWords& behind, int& exit_status) {
  cli::App* const command =
      app.add_subcommand("mpirun", "Start an MPI program whose collectives use a switch");
  const auto options = std::make_shared<MpirunOptions>();
  command->add_option("--launcher", options->launcher, "Open MPI's or MPICH's mpirun or mpiexec")
      ->type_name("PROGRAM")
      ->capture_default_str();
  command
      ->add_option("--library", options->library,
                   "The library to preload, on every node; default: the launcher's MPI's")
      ->type_name("PATH");
  command->allow_extras();
  command->callback([command, behind, options, &exit_status] {
    if (!behind)
      throw cli::UsageError(
          "mpirun: the launcher's arguments and the program stand behind --: "
          "tributary mpirun -- -n 4 PROGRAM");
    if (!command->remaining().empty())
      throw cli::UsageError(command->unknown(command->remaining().front()) +
                            "; the launcher's arguments stand behind --");
    options->words = *behind;
    exit_status = run(*options);
  });
  command->footer(
      "Behind -- stand the launcher's arguments, the program and its arguments. The ranks get\n"
      "this process's TRIBUTARY_ variables. Exit status: the launcher's; 1 where the library was\n"
      "not in the program.\n"
      "Example:\n"
      "  export TRIBUTARY_ADDRESS=udp://10.77.0.254 TRIBUTARY_JOBS=1\n"
      "  tributary mpirun -- -n 4 python3 solver.py");
}

}  // namespace tributary::client
