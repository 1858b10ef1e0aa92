// The highest term of a manager that this node has seen, kept over restarts: an older manager that
// still believes it leads is refused.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>

namespace tributary::agentd {

// Any thread.
class Terms {
 public:
  // Throws std::runtime_error when the file is there and holds no number.
  explicit Terms(std::string path);

  [[nodiscard]] std::uint64_t highest() const;
  // False: a lower one than before. A higher one is in the file when this returns; throws
  // std::runtime_error when it cannot be.
  bool accept(std::uint64_t term);

 private:
  const std::string path_;
  mutable std::mutex mutex_;
  std::uint64_t highest_ = 0;
};

}  // namespace tributary::agentd
