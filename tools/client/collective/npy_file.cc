// .npy files on disk.
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>

#include "tools/client/collective/npy.h"
#include "tools/program/output_file.h"

namespace tributary::client {
namespace {

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

[[noreturn]] void fail(const std::string& path, const char* what, int error) {
  throw NpyError(path + ": " + what + ": " + std::generic_category().message(error));
}

}  // namespace

NpyArray read_npy(const std::string& path) {
  // O_NONBLOCK: opening a FIFO without a writer must not hang.
  const int fd = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) fail(path, "cannot open", errno);
  const File file(::fdopen(fd, "rb"));
  struct stat status {};
  if (::fstat(fd, &status) != 0) fail(path, "cannot read", errno);
  if (!S_ISREG(status.st_mode)) throw NpyError(path + ": is not a regular file");
  std::vector<std::byte> bytes(static_cast<std::size_t>(status.st_size));
  if (std::fread(bytes.data(), 1, bytes.size(), file.get()) != bytes.size())
    fail(path, "cannot read", errno);
  try {
    return parse_npy(bytes);
  } catch (const NpyError& error) {
    throw NpyError(path + ": " + error.what());
  }
}

void write_npy(const std::string& path, const NpyArray& array) {
  const std::string header = npy_header(array);
  try {
    tools::write_file(path, {std::as_bytes(std::span(header)), array.data});
  } catch (const std::runtime_error& error) {
    throw NpyError(error.what());
  }
}

}  // namespace tributary::client
