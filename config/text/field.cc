// Hints for unknown keys.
#include "config/text/field.h"

#include <algorithm>

#include "config/text/nearest.h"

namespace tributary::config {
std::string printable_key(const std::string& key) {
  const auto is_word_char = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '-';
  };
  const bool word =
      !key.empty() && key.size() <= 40 && std::all_of(key.begin(), key.end(), is_word_char);
  return word ? key : quoted(key);
}

std::string unknown_key_message(const std::string& key, const std::vector<std::string>& known) {
  std::string message = "unknown key" + nearest_hint(key, known) + "; allowed: ";
  for (std::size_t i = 0; i < known.size(); ++i) message += (i > 0 ? ", " : "") + known[i];
  return message;
}

}  // namespace tributary::config
