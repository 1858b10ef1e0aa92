// A loader's control connection to one node whose calls never wait.
//
//   connecting ─▶ challenge ─▶ welcome ─▶ ready: send() a request, next() returns its answers
//
// For one thread, but for closed().
#pragma once

#include <optional>

#include "pool/link/greeting.h"

namespace tributary::pool {

class ControlLink {
 public:
  // Begins to connect, which resolves the node's name first. Throws StreamError.
  explicit ControlLink(const LinkTarget& target);

  // Goes on with the greeting as far as it can. Returns a message that has come: first the node's
  // Welcome, then answers to requests; nullopt: none is whole yet. Throws StreamError: the
  // connection is closed, the node is another one, or it answers with a Failure.
  std::optional<Message> next();
  // Throws StreamError if the node does not take it.
  void send(const Message& request) { stream_.send(request, Duration{}); }

  // True if the other side has closed. Any thread may call.
  [[nodiscard]] bool closed() const { return stream_.closed(); }
  [[nodiscard]] int fd() const { return stream_.fd(); }
  // The events of poll() that next() waits for.
  [[nodiscard]] short events() const;
  // An error with the node's name and address before its text.
  [[nodiscard]] StreamError named(const std::exception& error) const {
    return greeting_.named(error);
  }

 private:
  enum class Stage : std::uint8_t { connecting, challenge, welcome, ready };

  Greeting greeting_;
  MessageStream stream_;
  Stage stage_ = Stage::connecting;
};

}  // namespace tributary::pool
