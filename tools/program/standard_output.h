// Standard output that a full disk or a closed pipe may have refused.
#pragma once

#include <string>

namespace tributary::tools {

// Flushes what std::cout and stdio hold. Returns `status`; or 1 where that is 0 and something that
// was printed has been lost, which is said on standard error. The last thing that main() does.
int finish_output(const std::string& program, int status);

// Throws std::runtime_error when something that was printed has been lost. For what prints again
// and again.
void check_output();

}  // namespace tributary::tools
