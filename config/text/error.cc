// Text and order of configuration errors.
#include "config/text/error.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace tributary::config {
namespace {

// A file that is wrong throughout (of another kind, say) must not flood the terminal.
constexpr std::size_t kMostErrors = 100;

std::vector<ConfigError> ordered(std::vector<ConfigError> errors) {
  std::stable_sort(errors.begin(), errors.end(), [](const ConfigError& a, const ConfigError& b) {
    return std::tie(a.line, a.column) < std::tie(b.line, b.column);
  });
  if (errors.size() > kMostErrors) {
    const std::size_t hidden = errors.size() - (kMostErrors - 1);
    errors.resize(kMostErrors - 1);
    ConfigError more = errors.back();
    more.key_path.clear();
    more.message = "and " + std::to_string(hidden) + " more errors after this line";
    errors.push_back(std::move(more));
  }
  return errors;
}

std::string joined(const std::vector<ConfigError>& errors) {
  std::string text;
  for (const auto& e : errors) {
    if (!text.empty()) text += '\n';
    text += e.to_string();
  }
  return text;
}

}  // namespace

std::string ConfigError::to_string() const {
  std::string text = file;
  if (line > 0) text += ':' + std::to_string(line) + ':' + std::to_string(column);
  text += ": ";
  if (!key_path.empty()) text += key_path + ": ";
  return text + message;
}

ConfigErrors::ConfigErrors(std::vector<ConfigError> errors)
    : std::runtime_error(joined(ordered(errors))), errors_(ordered(std::move(errors))) {}

}  // namespace tributary::config
