// Reads what containers have printed, on a thread of its own: podman may take its time, and a lease
// may not wait for it.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "manager/service/log_desk.h"
#include "tools/agentd/pods/libpod.h"

namespace tributary::agentd {

// The text of podman's frames: of each, one byte names the stream, and bytes 4 to 7 the length, big
// endian. At most `most` bytes, the last ones, from the start of a line on. What is no UTF-8 is
// replaced.
std::string printed_text(std::string_view frames, std::size_t most);

class LogReader {
 public:
  using Answers = std::vector<std::pair<std::uint64_t, manager::LogAnswer>>;

  // `answered` is called after each answer.
  LogReader(const std::string& podman, const std::string& node, std::function<void()> answered);
  ~LogReader();
  LogReader(const LogReader&) = delete;
  LogReader& operator=(const LogReader&) = delete;

  // Any thread.
  void ask(manager::LogQuestion question);
  Answers take();

 private:
  void run();
  manager::LogAnswer answer(const manager::LogQuestion& question);

  Libpod libpod_;
  const std::function<void()> answered_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<manager::LogQuestion> questions_;
  Answers answers_;
  bool stopping_ = false;
  std::thread thread_;  // last: begins when all else is there
};

}  // namespace tributary::agentd
