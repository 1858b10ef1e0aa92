#include "tools/agentd/terms.h"

#include <charconv>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include "config/text/file.h"
#include "tools/program/output_file.h"

namespace tributary::agentd {

Terms::Terms(std::string path) : path_(std::move(path)) {
  if (!std::filesystem::exists(path_)) return;
  std::string text = config::read_file(path_);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), highest_);
  if (error != std::errc() || end != text.data() + text.size())
    throw std::runtime_error(path_ + ": holds no term; it is a number, written by the agent");
}

std::uint64_t Terms::highest() const {
  const std::lock_guard lock(mutex_);
  return highest_;
}

bool Terms::accept(std::uint64_t term) {
  const std::lock_guard lock(mutex_);
  if (term < highest_) return false;
  if (term > highest_) {
    tools::keep_file(path_, std::to_string(term) + "\n");
    highest_ = term;
  }
  return true;
}

}  // namespace tributary::agentd
