// Command lines of the launchers of Open MPI and MPICH: where the programs in them begin.
//
//   -n 4 --mca btl tcp,self python3 solver.py : -n 1 ./other
//                           ^program                 ^program
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::client {

enum class Mpi { openmpi, mpich };
const char* name_of(Mpi mpi);       // "openmpi", as the library's file name has it
const char* display_name(Mpi mpi);  // "Open MPI"
std::string library_name(Mpi mpi);  // "libtributary_mpi_openmpi.so"
std::optional<Mpi> parse_mpi(std::string_view name);

// The MPI in the answer of `LAUNCHER --version`, or of MPI_Get_library_version().
std::optional<Mpi> mpi_of_version(std::string_view text);

// One program of the command line; those of several are separated by ":".
struct LaunchPart {
  std::vector<std::string> options;  // of the launcher
  std::vector<std::string> program;  // and its arguments
};

// `is_program`: true for a word that can be run; it ends the options after one that is not known.
// Throws cli::UsageError for a part without a program, and for options that name the programs in a
// file.
std::vector<LaunchPart> split_launch(Mpi mpi, const std::vector<std::string>& words,
                                     const std::function<bool(const std::string&)>& is_program);

// True if an option changes where the launcher looks for the program.
bool moves_program(const LaunchPart& part);
// The value that an option of the launcher gives to a variable of the ranks.
std::optional<std::string> variable_in(const std::vector<LaunchPart>& parts,
                                       const std::string& name);

// The launcher's command line. `variables`: "NAME=VALUE", for all ranks; Open MPI's launcher takes
// the values from its own environment. `in_front`: goes before each program.
std::vector<std::string> launch_words(Mpi mpi, const std::string& launcher,
                                      const std::vector<LaunchPart>& parts,
                                      const std::vector<std::string>& variables,
                                      const std::vector<std::string>& in_front);

}  // namespace tributary::client
