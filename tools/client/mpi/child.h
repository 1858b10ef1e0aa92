// A program that is started here, and whose output is read.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::client {

struct Captured {
  int status = 0;      // as a shell's; 127: it could not be started
  std::string output;  // standard output and standard error
};

// Runs a program without input to its end.
Captured capture(const std::vector<std::string>& words);

// Runs a program with this process's standard input and output, and calls `on_error_output` with
// what it writes to standard error, as it comes. SIGTERM and SIGHUP reach it, and a SIGINT that
// does not come from the terminal, which it has from there. Returns its exit status as a shell
// does. Throws std::runtime_error if it can't be started. `variables`: "NAME=VALUE", beside the
// own.
int run_relayed(const std::vector<std::string>& words, const std::vector<std::string>& variables,
                const std::function<void(std::string_view)>& on_error_output);

}  // namespace tributary::client
