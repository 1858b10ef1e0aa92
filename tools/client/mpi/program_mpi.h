// The MPI that a program uses, found out on this host without running it.
#pragma once

#include <string>
#include <vector>

#include "tools/client/mpi/launcher.h"

namespace tributary::client {

// The file that a name stands for: itself with a slash, else the first in PATH that can be run.
// Empty: there is none.
std::string find_program(const std::string& name);

struct ProgramMpi {
  std::optional<Mpi> mpi;  // nothing: not known before it runs
  std::string seen_in;     // "libmpich.so.12", "python3's mpi4py"
};

// Libraries that a program is linked with, and mpi4py where the program is Python. Throws
// std::runtime_error for a program without a dynamic loader, into which nothing can be preloaded.
ProgramMpi mpi_of_program(const std::string& name);

// The MPI among the libraries that ld.so --list prints.
ProgramMpi mpi_of_libraries(const std::string& list);
// The interpreter of a script from its first line: {"/usr/bin/python3"}, {"/usr/bin/env",
// "python3"}. Empty: no script.
std::vector<std::string> interpreter_of(const std::string& first_bytes);

}  // namespace tributary::client
