// Hints for keys that nobody knows.
#include "config/text/field.h"

namespace tributary::config {
namespace {

// Levenshtein distance; both words are short.
std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substituted, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

const std::string* nearest(const std::string& key, const std::vector<std::string>& known) {
  if (key.size() > 32) return nullptr;
  const std::string* best = nullptr;
  std::size_t best_distance = 0;
  for (const auto& candidate : known) {
    const std::size_t distance = edit_distance(key, candidate);
    // Beyond a third of the word it is another word.
    if (distance > std::max<std::size_t>(1, candidate.size() / 3)) continue;
    if (best == nullptr || distance < best_distance) {
      best = &candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace

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
  std::string message = "unknown key";
  if (const std::string* hint = nearest(key, known)) message += "; did you mean '" + *hint + "'?";
  message += "; allowed: ";
  for (std::size_t i = 0; i < known.size(); ++i) message += (i > 0 ? ", " : "") + known[i];
  return message;
}

}  // namespace tributary::config
