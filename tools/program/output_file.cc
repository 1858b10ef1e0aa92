#include "tools/program/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <stdexcept>
#include <system_error>

namespace tributary::tools {
namespace {

using Pieces = std::initializer_list<std::span<const std::byte>>;

constexpr std::size_t kOneWrite = std::size_t{64} << 20;  // the kernel takes 2 GiB at most
constexpr mode_t kPermissions = 07777;

[[noreturn]] void fail(const std::string& path, const char* what, int error) {
  throw std::runtime_error(path + ": " + what + ": " + std::generic_category().message(error));
}

// 0, or why not.
int write_all(int fd, Pieces pieces) {
  for (std::span<const std::byte> left : pieces) {
    while (!left.empty()) {
      const ssize_t n = ::write(fd, left.data(), std::min(left.size(), kOneWrite));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return errno;
      left = left.subspan(static_cast<std::size_t>(n));
    }
  }
  return 0;
}

// Some file systems say only here that there was no room.
int close_file(int fd) {
  return ::close(fd) == 0 ? 0 : errno;
}

void write_in_place(const std::string& path, Pieces pieces) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOCTTY | O_CLOEXEC, 0666);
  if (fd < 0) fail(path, "cannot open", errno);
  const int written = write_all(fd, pieces);
  const int closed = close_file(fd);
  if (written != 0 || closed != 0) fail(path, "cannot write", written != 0 ? written : closed);
}

// A process that had the same number may have been killed while it wrote, as in a container, where
// it always has: its file has no writer any more.
int create_anew(const std::string& path) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
  const int fd = ::open(path.c_str(), kFlags, 0666);
  if (fd >= 0 || errno != EEXIST || ::unlink(path.c_str()) != 0) return fd;
  return ::open(path.c_str(), kFlags, 0666);
}

// `old` is the file that is there; nullptr: none.
void write_beside(const std::string& path, Pieces pieces, const struct stat* old,
                  bool durably = false) {
  const std::string fresh = path + ".part" + std::to_string(::getpid());
  const int fd = create_anew(fresh);
  if (fd < 0) fail(path, "cannot create", errno);
  int error = 0;
  if (old != nullptr) {
    // The owner first: a change of it takes the set-user-id bits away. Only root may give files to
    // others; for any other user the file becomes their own.
    [[maybe_unused]] const int given = ::fchown(fd, old->st_uid, old->st_gid);
    if (::fchmod(fd, old->st_mode & kPermissions) != 0) error = errno;
  }
  if (error == 0) error = write_all(fd, pieces);
  if (error == 0 && durably && ::fsync(fd) != 0) error = errno;
  if (const int closed = close_file(fd); error == 0) error = closed;
  if (error == 0 && ::rename(fresh.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return;
  ::unlink(fresh.c_str());
  fail(path, "cannot write", error);
}

}  // namespace

void write_file(const std::string& path, Pieces pieces) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return write_beside(path, pieces, nullptr);
  if (S_ISREG(status.st_mode)) return write_beside(path, pieces, &status);
  write_in_place(path, pieces);
}

void write_file(const std::string& path, std::string_view text) {
  write_file(path, {std::as_bytes(std::span(text))});
}

void keep_file(const std::string& path, std::string_view text) {
  struct stat status {};
  const bool is_there = ::lstat(path.c_str(), &status) == 0;
  if (is_there && !S_ISREG(status.st_mode)) fail(path, "cannot be kept", EINVAL);
  write_beside(path, {std::as_bytes(std::span(text))}, is_there ? &status : nullptr, true);
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) fail(folder, "cannot open", errno);
  const int error = ::fsync(fd) == 0 ? 0 : errno;
  ::close(fd);
  if (error != 0) fail(folder, "cannot be made durable", error);
}

}  // namespace tributary::tools
