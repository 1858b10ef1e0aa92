// The known word that is nearest to a mistyped one: "did you mean ...?".
#pragma once

#include <string>
#include <vector>

namespace tributary::config {

// nullptr: none is near. Points into `known`. Words of up to 32 characters.
const std::string* nearest(const std::string& word, const std::vector<std::string>& known);

}  // namespace tributary::config
