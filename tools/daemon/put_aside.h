// A file that cannot be read as what it should be, such as one that a loss of power left empty.
#pragma once

#include <string>

namespace tributary::tools {

// Renames the file to PATH.damaged, if `put_aside`. Returns a line about it: why it is damaged, how
// the switch starts `instead` ("with its own file alone"), and where the file is now.
std::string damage_of(const std::string& path, const std::string& why, bool put_aside,
                      const char* instead);

}  // namespace tributary::tools
