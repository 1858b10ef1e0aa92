// Questions of clients about containers' output, and the answers of the nodes' agents.
//
//   ask ─▶ questions of a node ──take──▶ its agent ──answer──▶ wait returns
//
// Bounded: a node has at most kMostQuestions without an answer. Any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace tributary::manager {

struct LogQuestion {
  std::uint64_t id = 0;
  std::string instance = {};
  std::string container = {};
  std::uint32_t lines = 0;
};

struct LogAnswer {
  std::string text = {};
  std::string problem = {};  // why there is no text
};

class LogDesk {
 public:
  static constexpr std::size_t kMostQuestions = 16;

  // The question's number. nullopt: the node has too many.
  std::optional<std::uint64_t> ask(const std::string& node, LogQuestion question);
  // Ends the question. nullopt: no answer in time.
  std::optional<LogAnswer> wait(std::uint64_t id, std::chrono::milliseconds most);
  // Each question is given out once.
  std::vector<LogQuestion> take(const std::string& node);
  // Nothing is waited for any more.
  void stop();
  // Leaves out what is no open question of the node.
  void answer(const std::string& node, std::uint64_t id, LogAnswer answer);

 private:
  struct Open {
    std::string node;
    LogQuestion question;
    bool taken = false;
    std::optional<LogAnswer> answer;
  };

  std::mutex mutex_;
  std::condition_variable answered_;
  std::map<std::uint64_t, Open> open_;
  std::uint64_t next_ = 1;
  bool stopping_ = false;
};

}  // namespace tributary::manager
