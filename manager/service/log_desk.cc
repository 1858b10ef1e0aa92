#include "manager/service/log_desk.h"

#include <algorithm>
#include <utility>

namespace tributary::manager {

std::optional<std::uint64_t> LogDesk::ask(const std::string& node, LogQuestion question) {
  const std::lock_guard lock(mutex_);
  const auto waiting = std::count_if(open_.begin(), open_.end(),
                                     [&](const auto& entry) { return entry.second.node == node; });
  if (static_cast<std::size_t>(waiting) >= kMostQuestions) return std::nullopt;
  question.id = next_++;
  const std::uint64_t id = question.id;
  open_[id] = {node, std::move(question), false, std::nullopt};
  return id;
}

std::optional<LogAnswer> LogDesk::wait(std::uint64_t id, std::chrono::milliseconds most) {
  std::unique_lock lock(mutex_);
  const auto at = open_.find(id);
  if (at == open_.end()) return std::nullopt;
  answered_.wait_for(lock, most, [&] { return stopping_ || at->second.answer.has_value(); });
  std::optional<LogAnswer> answer = std::move(at->second.answer);
  open_.erase(at);
  return answer;
}

void LogDesk::stop() {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
  answered_.notify_all();
}

std::vector<LogQuestion> LogDesk::take(const std::string& node) {
  const std::lock_guard lock(mutex_);
  std::vector<LogQuestion> questions;
  for (auto& [id, open] : open_) {
    if (open.node != node || open.taken) continue;
    open.taken = true;
    questions.push_back(open.question);
  }
  return questions;
}

void LogDesk::answer(const std::string& node, std::uint64_t id, LogAnswer answer) {
  const std::lock_guard lock(mutex_);
  const auto at = open_.find(id);
  if (at == open_.end() || at->second.node != node) return;
  at->second.answer = std::move(answer);
  answered_.notify_all();
}

}  // namespace tributary::manager
