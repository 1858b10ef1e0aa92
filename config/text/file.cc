// Reads files from untrusted sources.
#include "config/text/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

namespace tributary::config {
namespace {

[[noreturn]] void fail_file(const std::string& path, const std::string& message) {
  throw ConfigErrors({ConfigError{path, 0, 0, "", message}});
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

std::string system_text(int error) {
  return std::generic_category().message(error);
}

}  // namespace

std::string read_file(const std::string& path) {
  // O_NONBLOCK: opening a FIFO without a writer must not hang.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (file.get() < 0) fail_file(path, "cannot open: " + system_text(errno));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) fail_file(path, "cannot read: " + system_text(errno));
  if (S_ISDIR(status.st_mode)) fail_file(path, "is a directory; allowed: a YAML file");
  if (!S_ISREG(status.st_mode)) fail_file(path, "is not a regular file; allowed: a YAML file");
  std::string text;
  std::string block(64 << 10, '\0');
  // One byte beyond the limit is enough for parse_yaml() to refuse the file.
  while (text.size() <= kMaxFileBytes) {
    const ssize_t n = ::read(file.get(), block.data(), block.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_file(path, "cannot read: " + system_text(errno));
    if (n == 0) return text;
    text.append(block, 0, static_cast<std::size_t>(n));
  }
  fail_file(path, "is too large; allowed: at most " + std::to_string(kMaxFileBytes) + " bytes");
}

Node parse_text(std::string_view text, const std::string& file_name) {
  try {
    return parse_yaml(text);
  } catch (const YamlError& e) {
    throw ConfigErrors({ConfigError{file_name, e.mark().line, e.mark().column, "", e.what()}});
  }
}

}  // namespace tributary::config
