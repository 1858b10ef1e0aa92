// `tributary mpi-rank`: what `tributary mpirun` has the launcher start for each rank. Becomes the
// program, with the library preloaded that this node has; fails if there is none.
#include <limits.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <system_error>

#include "tools/client/commands.h"
#include "tools/client/mpi/preload.h"

namespace tributary::client {
namespace {

constexpr int kExitNoProgram = 127;  // a shell's

struct RankOptions {
  std::string mpi;
  std::string library;
  std::vector<std::string> program;
};

std::string host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

int become_program(RankOptions& options) {
  const auto mpi = parse_mpi(options.mpi);
  if (!mpi) throw cli::UsageError("MPI", options.mpi + ": allowed: openmpi, mpich");
  std::string library;
  try {
    library = find_preload(*mpi, options.library);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(host_name() + ": " + error.what());
  }
  const char* const others = std::getenv("LD_PRELOAD");
  if (others != nullptr && *others != '\0') library += std::string(":") + others;
  ::setenv("LD_PRELOAD", library.c_str(), 1);
  std::vector<char*> argv;
  for (std::string& word : options.program) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execvp(argv[0], argv.data());
  std::cerr << "tributary: " << host_name() << ": " << options.program[0] << ": "
            << std::generic_category().message(errno) << '\n';
  return kExitNoProgram;
}

}  // namespace

void add_mpi_rank(cli::App& app, const PassedWords& behind, int& exit_status) {
  cli::App* const command = app.add_subcommand("mpi-rank", "Become a rank of `tributary mpirun`");
  command->group("");  // not in the help: no user types it
  const auto options = std::make_shared<RankOptions>();
  command->add_option("--library", options->library, "The library to preload");
  command->add_option("MPI", options->mpi, "openmpi or mpich")->required();
  command->callback([behind, options, &exit_status] {
    if (!behind || behind->empty()) throw cli::UsageError("no program behind --");
    options->program = *behind;
    exit_status = become_program(*options);
  });
}

}  // namespace tributary::client
