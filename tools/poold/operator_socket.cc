#include "tools/poold/operator_socket.h"

#include <pwd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace tributary::poold {
namespace {

constexpr int kWaiting = 256;
constexpr mode_t kForAll = 0666;  // admits() decides

[[noreturn]] void refuse(const std::string& path, const std::string& what) {
  throw std::runtime_error(path + ": " + what);
}

uid_t user_of(const std::string& name) {
  uid_t number = 0;
  const char* const end = name.data() + name.size();
  if (const auto [at, error] = std::from_chars(name.data(), end, number);
      error == std::errc() && at == end)
    return number;
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> room(16 << 10);
  if (getpwnam_r(name.c_str(), &entry, room.data(), room.size(), &found) != 0 || found == nullptr)
    throw std::runtime_error("pool.operators: there is no user '" + name + "' on this machine");
  return entry.pw_uid;
}

// Removes a socket of this user, which no process serves: the node's memory is locked already.
void remove_old(const std::string& path) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) return;
  if (!S_ISSOCK(status.st_mode) || status.st_uid != geteuid())
    refuse(path, "is there already, and no socket of this user; allowed: another operate_socket");
  if (unlink(path.c_str()) != 0)
    refuse(path, "cannot be replaced: " + std::generic_category().message(errno));
}

}  // namespace

std::set<uid_t> operators_of(const std::vector<std::string>& names) {
  std::set<uid_t> users = {0, geteuid()};
  for (const std::string& name : names) users.insert(user_of(name));
  return users;
}

OperatorSocket::OperatorSocket(std::string path, std::set<uid_t> users)
    : path_(std::move(path)), users_(std::move(users)) {
  remove_old(path_);
  listener_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  try {
    listen_there();
  } catch (...) {
    if (listener_ >= 0) close(listener_);
    throw;
  }
}

OperatorSocket::~OperatorSocket() {
  unlink(path_.c_str());
  close(listener_);
}

void OperatorSocket::listen_there() {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path_.size() >= sizeof address.sun_path)
    refuse(path_, "is too long for a socket; allowed: up to " +
                      std::to_string(sizeof address.sun_path - 1) + " bytes, as operate_socket");
  std::memcpy(address.sun_path, path_.data(), path_.size());
  if (listener_ < 0 ||
      bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      chmod(path_.c_str(), kForAll) != 0 || listen(listener_, kWaiting) != 0)
    refuse(path_, "cannot listen: " + std::generic_category().message(errno));
}

bool OperatorSocket::admits(int connection) const {
  ucred peer{};
  socklen_t length = sizeof peer;
  return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
         users_.contains(peer.uid);
}

}  // namespace tributary::poold
