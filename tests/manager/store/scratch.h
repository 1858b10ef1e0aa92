// A folder that goes with the test.
#pragma once

#include <cstdio>

#include "tests/database/scratch.h"

namespace tributary::manager {

using database::Scratch;

// From here on a second manager can open the store beside the first, which only its term tells.
inline void delete_lock(const std::string& file) {
  std::remove((file + ".lock").c_str());
}

}  // namespace tributary::manager
