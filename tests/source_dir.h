// Where the source tree is, for tests that read its files.
#pragma once

#include <string>

namespace tributary::tests {

// Absolute, without a slash at the end.
std::string source_dir();

}  // namespace tributary::tests
