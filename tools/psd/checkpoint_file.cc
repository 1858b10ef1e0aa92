#include "tools/psd/checkpoint_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include "worker/transport/file_descriptor.h"

namespace tributary::psd {
namespace {

using worker::FileDescriptor;

// Most bytes of one call of write() or read().
constexpr std::size_t kPiece = std::size_t{8} << 20;

[[noreturn]] void fail(const std::string& path, const char* what) {
  throw std::system_error(errno, std::generic_category(), path + ": " + what);
}

FileDescriptor open_file(const std::string& path, int flags) {
  FileDescriptor file(::open(path.c_str(), flags | O_CLOEXEC, 0644));
  if (!file) fail(path, "cannot open");
  return file;
}

void write_all(const FileDescriptor& file, const std::string& path,
               std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(file.get(), bytes.data(), std::min(bytes.size(), kPiece));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail(path, "cannot write");
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
}

void sync(const FileDescriptor& file, const std::string& path) {
  if (::fsync(file.get()) != 0) fail(path, "cannot be made durable");
}

void rename_file(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) fail(from, "cannot be renamed");
}

// nullopt: there is no such file.
std::optional<std::vector<std::byte>> read_all(const std::string& path, std::uint64_t most) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file && errno == ENOENT) return std::nullopt;
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) fail(path, "cannot open");
  // A file that is too long is refused by its length, and need not be read whole.
  const auto length = static_cast<std::uint64_t>(status.st_size);
  std::vector<std::byte> bytes(static_cast<std::size_t>(std::min(length, most + 1)));
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n =
        ::read(file.get(), bytes.data() + done, std::min(bytes.size() - done, kPiece));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(path, "cannot read");
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  bytes.resize(done);
  return bytes;
}

}  // namespace

CheckpointFile::CheckpointFile(std::uint32_t job, const config::OptimizerConfig& optimizer)
    : job_(job),
      optimizer_(optimizer),
      path_(optimizer.checkpoint.directory + "/job-" + std::to_string(job) + ".checkpoint"),
      previous_(optimizer.checkpoint.directory + "/job-" + std::to_string(job) +
                ".previous.checkpoint") {}

void CheckpointFile::write(std::uint64_t step, std::span<const std::byte> values) const {
  const std::string fresh = path_ + ".new";
  const auto head = completion::checkpoint_head(job_, optimizer_, step);
  const std::array crc = {completion::checkpoint_crc(head, values)};
  {
    const FileDescriptor file = open_file(fresh, O_WRONLY | O_CREAT | O_TRUNC);
    write_all(file, fresh, head);
    write_all(file, fresh, values);
    write_all(file, fresh, std::as_bytes(std::span(crc)));
    sync(file, fresh);
  }
  // A second name for the last one, under which it stays when it loses the first.
  const std::string second = previous_ + ".new";
  ::unlink(second.c_str());
  if (::link(path_.c_str(), second.c_str()) == 0)
    rename_file(second, previous_);
  else if (errno != ENOENT)
    fail(path_, "cannot be kept as the previous one");
  rename_file(fresh, path_);
  sync(open_file(optimizer_.checkpoint.directory, O_RDONLY | O_DIRECTORY),
       optimizer_.checkpoint.directory);
}

void CheckpointFile::promote_previous(const Report& report) const {
  const std::string bad = path_ + ".bad";
  if (::rename(path_.c_str(), bad.c_str()) == 0)
    report(path_ + ": is kept as " + bad);
  else if (errno != ENOENT)
    fail(path_, "cannot be put aside");
  rename_file(previous_, path_);
}

void CheckpointFile::load(const std::function<void(const completion::Checkpoint&)>& restore,
                          const Report& report) const {
  bool found = false;
  for (const std::string& path : {path_, previous_}) {
    const auto bytes = read_all(path, completion::checkpoint_bytes(optimizer_));
    if (!bytes) continue;
    found = true;
    const auto read = completion::read_checkpoint(*bytes, job_, optimizer_);
    if (const auto* good = std::get_if<completion::Checkpoint>(&read)) {
      restore(*good);
      report(path + ": the model goes on from step " + std::to_string(good->step));
      if (path == previous_) promote_previous(report);
      return;
    }
    report(path + ": " + std::get<std::string>(read));
  }
  if (found)
    throw std::runtime_error(optimizer_.checkpoint.directory + ": job " + std::to_string(job_) +
                             " has no usable checkpoint; put a good one there, or move these away "
                             "for a model that begins anew");
}

}  // namespace tributary::psd
