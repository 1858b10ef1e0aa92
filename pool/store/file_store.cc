#include "pool/store/file_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

namespace tributary::pool {
namespace {

std::uint64_t version_of(const struct stat& status) {
  const std::uint64_t ns = static_cast<std::uint64_t>(status.st_mtim.tv_sec) * 1'000'000'000 +
                           static_cast<std::uint64_t>(status.st_mtim.tv_nsec);
  return ns == 0 ? 1 : ns;
}

[[noreturn]] void fail(const std::string& path, int error) {
  const StoreFault fault = error == ENOENT || error == ENOTDIR ? StoreFault::not_found
                           : error == EACCES || error == EPERM || error == ELOOP
                               ? StoreFault::denied
                               : StoreFault::unavailable;
  throw StoreError(fault, path + ": " + std::generic_category().message(error));
}

}  // namespace

FileStore::FileStore(std::string directory) : directory_(std::move(directory)) {
  if (directory_.empty() || directory_[0] != '/')
    throw std::invalid_argument("store 'file://" + directory_ + "' is no absolute path");
  while (directory_.size() > 1 && directory_.back() == '/') directory_.pop_back();
}

FileStore::~FileStore() {
  close_object();
}

void FileStore::close_object() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

std::vector<StoreObject> FileStore::list() {
  namespace fs = std::filesystem;
  std::vector<StoreObject> out;
  std::error_code error;
  fs::recursive_directory_iterator at(directory_, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    struct stat status {};
    if (lstat(at->path().c_str(), &status) != 0) fail(at->path(), errno);
    if (!S_ISREG(status.st_mode)) continue;
    out.push_back({fs::path(at->path()).lexically_relative(directory_).string(),
                   static_cast<std::uint64_t>(status.st_size), version_of(status)});
  }
  if (error) fail(directory_, error.value());
  std::sort(out.begin(), out.end(),
            [](const StoreObject& a, const StoreObject& b) { return a.name < b.name; });
  return out;
}

void FileStore::open_object(const StoreObject& object) {
  if (fd_ >= 0 && open_name_ == object.name) return;
  close_object();
  // A manifest's names are untrusted: they may point outside the directory.
  const std::string padded = '/' + object.name + '/';
  const std::string path = directory_ + '/' + object.name;
  if (padded.find("/../") != std::string::npos)
    throw StoreError(StoreFault::refused, path + ": leaves the store's directory");
  fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd_ < 0) fail(path, errno);
  open_name_ = object.name;
}

void FileStore::read(const StoreObject& object, std::uint64_t offset, std::span<std::byte> out) {
  open_object(object);
  const std::string path = directory_ + '/' + object.name;
  const auto check = [&] {
    struct stat status {};
    if (fstat(fd_, &status) != 0) fail(path, errno);
    if (static_cast<std::uint64_t>(status.st_size) != object.bytes ||
        version_of(status) != object.version) {
      close_object();
      throw StoreError(StoreFault::changed, path + ": has " + std::to_string(status.st_size) +
                                                " bytes of another time; the manifest knows " +
                                                std::to_string(object.bytes) +
                                                "; make the manifest again");
    }
  };
  check();
  read_bytes(fd_, path, offset, out);
  check();
}

void FileStore::read_bytes(int file, const std::string& path, std::uint64_t offset,
                           std::span<std::byte> out) {
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t n =
        pread(file, out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(path, errno);
    if (n == 0)
      throw StoreError(StoreFault::incomplete,
                       path + ": ends after " + std::to_string(offset + done) + " bytes");
    done += static_cast<std::size_t>(n);
  }
}

std::unique_ptr<Store> FileStore::clone() const {
  return std::make_unique<FileStore>(directory_);
}

}  // namespace tributary::pool
