#include "config/text/nearest.h"

#include <algorithm>
#include <cstddef>

namespace tributary::config {
namespace {

// The number of characters to insert, remove, replace, or exchange with their neighbour (optimal
// string alignment); both words are short.
std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  std::vector<std::size_t> before = row;  // of the row above, which is empty at first
  for (std::size_t i = 1; i <= a.size(); ++i) {
    const std::vector<std::size_t> above = row;
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] =
          std::min({above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1), above[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = above;
  }
  return row[b.size()];
}

}  // namespace

const std::string* nearest(const std::string& word, const std::vector<std::string>& known) {
  if (word.size() > 32) return nullptr;
  const std::string* best = nullptr;
  std::size_t best_distance = 0;
  for (const auto& candidate : known) {
    const std::size_t distance = edit_distance(word, candidate);
    // With more changes than a third of the word, it is another word.
    if (distance > std::max<std::size_t>(1, candidate.size() / 3)) continue;
    if (best == nullptr || distance < best_distance) {
      best = &candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string nearest_hint(const std::string& word, const std::vector<std::string>& known) {
  const std::string* const hint = nearest(word, known);
  return hint != nullptr ? "; did you mean '" + *hint + "'?" : "";
}

}  // namespace tributary::config
