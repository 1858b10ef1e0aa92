// Messages over a TCP connection or a unix socket, one whole message at a time, with time limits.
// For one thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/time.h"
#include "pool/record/message.h"

namespace tributary::pool {

class StreamError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class MessageStream {
 public:
  explicit MessageStream(int fd) : fd_(fd) {}
  // Connects to HOST:PORT. Throws StreamError.
  static MessageStream connect(const std::string& address, Duration timeout);
  // Begins to connect: connected() tells the end. Throws StreamError.
  static MessageStream begin(const std::string& address);
  // Returns false while the connection is being made; does not wait. Throws StreamError.
  [[nodiscard]] bool connected() const { return wait_connected(Duration{}); }
  // Connects to a unix socket; nullopt if none listens there, or this user may not connect.
  static std::optional<MessageStream> connect_unix(const std::string& path);
  MessageStream(MessageStream&& other) noexcept;
  MessageStream& operator=(MessageStream&&) = delete;
  MessageStream(const MessageStream&) = delete;
  ~MessageStream();

  // Throws StreamError if the connection is closed, or the message was not accepted in time.
  void send(const Message& message, Duration timeout);
  // Returns nullopt if none came in time. Throws StreamError: closed, or not a message.
  std::optional<Message> receive(Duration timeout);
  // Sends, and waits for the answer. Throws StreamError; for a Failure, with the Failure's text.
  Message ask(const Message& message, Duration timeout);
  template <typename T>
  T ask_for(const Message& message, Duration timeout) {
    Message answer = ask(message, timeout);
    T* const wanted = std::get_if<T>(&answer);
    if (wanted == nullptr) throw StreamError("an answer of the wrong kind");
    return std::move(*wanted);
  }

  // True if the other side has closed; does not wait.
  [[nodiscard]] bool closed() const;
  [[nodiscard]] int fd() const { return fd_; }

 private:
  // Returns false if the connection is not made in time.
  [[nodiscard]] bool wait_connected(Duration timeout) const;

  int fd_;
  std::vector<std::byte> received_;
};

// Splits HOST:PORT or [HOST]:PORT. Throws std::invalid_argument.
std::pair<std::string, std::string> split_address(const std::string& address);
// Opens a listening socket there. Throws StreamError that names the address.
int listen_at(const std::string& address);

}  // namespace tributary::pool
