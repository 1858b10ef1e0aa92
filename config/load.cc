// Reading, checking and writing configuration files.
#include "config/load.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "config/check.h"
#include "config/read_context.h"
#include "config/schema.h"
#include "config/yaml_tree.h"

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

std::string read_file(const std::string& path) {
  // O_NONBLOCK: opening a FIFO that nobody writes to must not hang.
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

}  // namespace

SwitchConfig load_switch_config(const std::string& path) {
  return parse_switch_config(read_file(path), path);
}

SwitchConfig parse_switch_config(std::string_view text, const std::string& file_name) {
  Node root;
  try {
    root = parse_yaml(text);
  } catch (const YamlError& e) {
    throw ConfigErrors({ConfigError{file_name, e.mark().line, e.mark().column, "", e.what()}});
  }
  ReadContext context(file_name);
  SwitchConfig config;
  read_mapping(context, "", root, schema(), config);
  for (auto& job : config.jobs)
    if (job.name.empty()) job.name = "job-" + std::to_string(job.id);
  check(config, context);
  if (!context.errors().empty()) throw ConfigErrors(context.errors());
  return config;
}

std::string dump(const SwitchConfig& config) {
  return write_fields(schema(), config, 0);
}

}  // namespace tributary::config
