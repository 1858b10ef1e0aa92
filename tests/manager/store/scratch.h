// A folder that goes with the test.
#pragma once

#include "tests/database/scratch.h"

namespace tributary::manager {

using database::Scratch;

}  // namespace tributary::manager
