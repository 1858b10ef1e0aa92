#include "tools/program/standard_output.h"

#include <cerrno>
#include <cstdio>
#include <iostream>
#include <stdexcept>
#include <system_error>

namespace tributary::tools {

void check_output() {
  errno = 0;
  std::cout.flush();
  const bool flushed = std::fflush(stdout) == 0;
  const int error = errno;
  if (flushed && std::ferror(stdout) == 0 && std::cout) return;
  const std::string why = error != 0 ? ": " + std::generic_category().message(error) : "";
  throw std::runtime_error("cannot write to standard output" + why);
}

int finish_output(const std::string& program, int status) try {
  check_output();
  return status;
} catch (const std::runtime_error& error) {
  std::cerr << program << ": " << error.what() << '\n';
  return status != 0 ? status : 1;
}

}  // namespace tributary::tools
