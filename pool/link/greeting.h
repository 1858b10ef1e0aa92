// The greeting of a reader or operator, message by message, without the connection (message.h).
#pragma once

#include <string>

#include "pool/link/stream.h"
#include "pool/transport/transport.h"

namespace tributary::pool {

// The purpose of a connection.
enum class LinkUse : std::uint8_t { operate, read };

struct LinkTarget {
  std::string address;
  std::string node;  // the name that the node must give
  std::string pool;
  std::uint64_t manifest = 0;
  std::string token;
};

class Greeting {
 public:
  Greeting(LinkTarget target, LinkUse use);
  [[nodiscard]] Hello hello() const;
  // Throws StreamError if the node does not know the pool's token.
  Proof proof(const Challenge& challenge);
  // Throws StreamError if another node answers.
  void check(const Welcome& welcome) const;
  [[nodiscard]] Operate operate(const std::string& operator_token) const;
  // An error with the node's name and address before its text.
  [[nodiscard]] StreamError named(const std::exception& error) const;

 private:
  const LinkTarget target_;
  const LinkUse use_;
  const Nonce nonce_;
  Nonce nodes_nonce_{};
};

// The memory that a node offers. Throws StreamError that names the field that means nothing.
RemoteMemory memory_of(const Welcome& welcome);

}  // namespace tributary::pool
