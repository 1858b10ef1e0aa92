// The only source whose command line has the tree's path: compilers' caches serve the others to any
// checkout.
#include "tests/source_dir.h"

namespace tributary::tests {

std::string source_dir() {
  return TRIBUTARY_SOURCE_DIR;
}

}  // namespace tributary::tests
