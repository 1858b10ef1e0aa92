// Words behind the first "--" of commands that pass them on to another program. CLI11 would change
// some of them: it takes "[a,b]" apart.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tributary::client {

// Nothing: the command line has no "--", or the command isn't one that passes words on. Otherwise
// `argc` becomes the number of the words in front of it.
std::optional<std::vector<std::string>> cut_behind_mark(int& argc, const char* const* argv);

}  // namespace tributary::client
