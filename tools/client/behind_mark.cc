#include "tools/client/behind_mark.h"

#include <string_view>

namespace tributary::client {

std::optional<std::vector<std::string>> cut_behind_mark(int& argc, const char* const* argv) {
  if (argc < 2) return std::nullopt;
  const std::string_view command = argv[1];
  if (command != "run" && command != "mpirun" && command != "mpi-rank") return std::nullopt;
  for (int i = 2; i < argc; ++i) {
    if (std::string_view(argv[i]) != "--") continue;
    std::vector<std::string> words(argv + i + 1, argv + argc);
    argc = i;
    return words;
  }
  return std::nullopt;
}

}  // namespace tributary::client
