// Unix socket of a node for its operators: the kernel says which user connects, so no secret is
// needed on the node's own machine. A loopback address would say nothing: all users of a machine
// have it.
//
// Anyone may connect; users that may not operate the node are disconnected at once.
#pragma once

#include <sys/types.h>

#include <set>
#include <string>
#include <vector>

namespace tributary::poold {

// The users whose commands a node takes: its own, root, and those of `names`, each a name or a
// number. Throws std::runtime_error for a name that is none.
std::set<uid_t> operators_of(const std::vector<std::string>& names);

class OperatorSocket {
 public:
  // Listens, in place of a socket that an earlier process of this user has left. Throws
  // std::runtime_error that names the path.
  OperatorSocket(std::string path, std::set<uid_t> users);
  ~OperatorSocket();
  OperatorSocket(const OperatorSocket&) = delete;
  OperatorSocket& operator=(const OperatorSocket&) = delete;

  // Ready for reading when one connects.
  [[nodiscard]] int listener() const { return listener_; }
  // True if the connection, accepted here, is of a user who may operate the node.
  [[nodiscard]] bool admits(int connection) const;

 private:
  void listen_there();

  const std::string path_;
  const std::set<uid_t> users_;
  int listener_ = -1;
};

}  // namespace tributary::poold
