// The word that was probably meant by one that is unknown: "did you mean 'window'?"
#pragma once

#include <string>
#include <vector>

namespace tributary::config {

// nullptr: none is near. Points into `known`.
const std::string* nearest(const std::string& word, const std::vector<std::string>& known);
// "; did you mean 'window'?", or nothing.
std::string nearest_hint(const std::string& word, const std::vector<std::string>& known);

}  // namespace tributary::config
