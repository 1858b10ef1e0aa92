// One connection of the control socket, from its first byte to its last.
//
//   reading ─ a line is whole ─▶ answering ─ reply() ─▶ writing ─ all of it is sent ─▶ over
//      └───────────── the client has gone, or has sent too much ──────────────────────▲
//
// Never blocks. The server's thread alone uses it; but while it is answering, the line and the
// descriptor belong to the thread that answers, and no other thread touches them.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace tributary::control {

class SocketConnection {
 public:
  using Clock = std::chrono::steady_clock;
  enum class State : std::uint8_t { reading, answering, writing, over };

  // Owns the descriptor. `deadline`: for the whole line.
  SocketConnection(int fd, Clock::time_point deadline) : fd_(fd), deadline_(deadline) {}
  ~SocketConnection();
  SocketConnection(const SocketConnection&) = delete;
  SocketConnection& operator=(const SocketConnection&) = delete;

  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] int fd() const { return fd_; }
  // Waits for its client.
  [[nodiscard]] bool waits() const { return state_ == State::reading || state_ == State::writing; }
  // Events of the client that it waits for, as poll() knows them; 0: none.
  [[nodiscard]] short events() const;
  // By when the client must have done its part.
  [[nodiscard]] Clock::time_point deadline() const { return deadline_; }
  // Without the newline; once it is whole.
  [[nodiscard]] std::string_view line() const { return {received_.data(), line_bytes_}; }

  // Goes on reading or writing, as far as that goes now. A line longer than `most` bytes gets
  // `too_long` for an answer, by `reply_by`.
  void advance(std::size_t most, std::string_view too_long, Clock::time_point reply_by);
  // Sends what it can at once. `deadline`: for all of it.
  void reply(std::string text, Clock::time_point deadline);
  // Another thread has taken the descriptor over.
  void release();

 private:
  bool receive();
  void send();

  int fd_;
  State state_ = State::reading;
  Clock::time_point deadline_;
  std::string received_;
  std::size_t line_bytes_ = 0;
  std::string reply_;
  std::size_t sent_ = 0;
};

}  // namespace tributary::control
