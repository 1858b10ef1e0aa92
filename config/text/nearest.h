// The known word nearest to an unknown one: "did you mean 'window'?"
#pragma once

#include <string>
#include <vector>

namespace tributary::config {

// nullptr if none is near. Points into `known`.
const std::string* nearest(const std::string& word, const std::vector<std::string>& known);
// "; did you mean 'window'?", or an empty text.
std::string nearest_hint(const std::string& word, const std::vector<std::string>& known);

}  // namespace tributary::config
