#include "tools/daemon/put_aside.h"

#include <filesystem>
#include <system_error>

namespace tributary::tools {

std::string damage_of(const std::string& path, const std::string& why, bool put_aside,
                      const char* instead) {
  std::string line = path + ": is damaged (" + why + "); the switch starts " + instead;
  if (!put_aside) return line;
  const std::string aside = path + ".damaged";
  std::error_code error;
  std::filesystem::rename(path, aside, error);
  return line + (error ? "; it cannot be put aside: " + error.message() : "; kept as " + aside);
}

}  // namespace tributary::tools
