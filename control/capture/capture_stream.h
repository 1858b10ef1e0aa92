// The connection of a capture or trace: a stream to a reader who may pause for as long as it likes,
// and delays no other client.
//
//   sending ──▶ waiting for the reader ──▶ sending …
//                  │ stop()
//                  ▼
//               send() returns; what is left goes into room that the socket gets for it
//
// So a stream that was stopped ends as its format wants it, even when its reader reads on much
// later.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace tributary::control {

class CaptureStream {
 public:
  using Clock = std::chrono::steady_clock;
  // Bytes that fit into a socket's buffer beyond its contents, with the kernel's overhead.
  static constexpr std::size_t kMostLeft = 96u << 10;

  // Does not own the descriptor. Throws std::runtime_error when there are no descriptors left.
  explicit CaptureStream(int connection);
  ~CaptureStream();
  CaptureStream(const CaptureStream&) = delete;
  CaptureStream& operator=(const CaptureStream&) = delete;

  // One thread. All of `text`, however long that takes; what was sent is taken out of it. False:
  // the reader has gone, or it leaves no room and the stream was stopped.
  bool send(std::string& text);
  // The same, and then without waiting: for the last kMostLeft bytes or less. False: they are lost.
  bool send_last(std::string& text);
  // Waits so long at most; false: the reader has closed its end, or the stream was stopped.
  [[nodiscard]] bool wanted(int wait_ms) const;

  // Any thread.
  void stop();
  [[nodiscard]] bool stopped() const { return stopped_.load(std::memory_order_acquire); }
  // How long the reader has left no room; 0: it does.
  [[nodiscard]] Clock::duration unread_for() const;

 private:
  // As much as there is room for; false: the reader has gone.
  bool send_now(std::string& text);
  void wait_for_room();

  int connection_;
  int stop_event_;
  std::atomic<bool> stopped_{false};
  std::atomic<Clock::rep> unread_since_{0};  // 0: there was room
};

// The process at the other end of a unix socket, as text.
std::string peer_of(int connection);

}  // namespace tributary::control
