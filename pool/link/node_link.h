// A connection to one node whose calls wait for the node's answer: for operators and tools. Loaders
// use a ControlLink, which never waits. For one thread.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "pool/link/greeting.h"

namespace tributary::pool {

// Evidence for a node that a connection is an operator's.
struct OperatorAccess {
  std::string socket;  // of the node, where it is on this machine: the kernel names the user
  std::string token;   // proven at the node's address; empty: there is none
};

inline constexpr Duration kAnswerTime = Duration::seconds(10);

class NodeLink {
 public:
  // Throws StreamError that names the node, if it does not answer, is another one, has another
  // manifest (two pools of one name), or refuses the token.
  NodeLink(const LinkTarget& target, LinkUse use, Duration connect_time = Duration::seconds(2));

  // For commands and the status: by the node's socket if it lets this user in, else by its address.
  // Throws StreamError, too, if the node refuses the operators' token. Without one the node refuses
  // commands.
  static NodeLink to_operate(const LinkTarget& target, const OperatorAccess& access);

  [[nodiscard]] const Welcome& welcome() const { return welcome_; }
  // Passes on changes after generation() in order; then generation() is the node's current one.
  void refresh(const std::function<void(const PlacedRecord&)>& apply);
  // Renews the lease. Returns true if the table has changed, or the lease was lost: call refresh().
  bool renew();
  std::vector<PlacedRecord> lookup(const std::vector<std::uint64_t>& ids);
  std::string command(CommandKind kind, std::uint64_t first, std::uint64_t count);
  std::string status();

  [[nodiscard]] std::uint64_t generation() const { return generation_; }
  [[nodiscard]] bool closed() const { return stream_.closed(); }

 private:
  NodeLink(MessageStream stream, const LinkTarget& target, LinkUse use,
           const std::string& operator_token);
  void greet(Greeting& greeting, const std::string& operator_token);

  MessageStream stream_;
  Welcome welcome_;
  std::uint64_t generation_ = 0;
};

}  // namespace tributary::pool
