// The library that is preloaded into MPI programs: where it is, and whether the loader takes it.
// The loader itself ignores a library that it can't preload, and runs the program without.
#pragma once

#include <string>

#include "tools/client/mpi/launcher.h"

namespace tributary::client {

// The path of the library for an MPI: `given`, if it isn't empty; else beside this program, as a
// build or a prefix has it; else where the loader looks. It has been loaded for a try. Throws
// std::runtime_error that names the places, or the loader's reason.
std::string find_preload(Mpi mpi, const std::string& given);

// The absolute path of this program.
std::string own_path();

}  // namespace tributary::client
