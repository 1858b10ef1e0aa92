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

namespace fs = std::filesystem;

std::uint64_t time_version(const struct stat& status) {
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

// Both paths are without links.
bool is_inside(const std::string& path, const std::string& folder) {
  return path == folder || folder == "/" || path.starts_with(folder + '/');
}
// `path` is inside of the folder, and is returned as seen from there.
std::string below(const std::string& path, const std::string& folder) {
  return path.substr(std::min(folder == "/" ? 1 : folder.size() + 1, path.size()));
}
std::string joined(const std::string& folder, const std::string& name) {
  return folder.empty() ? name : folder + '/' + name;
}

bool is_link(int folder, const std::string& name) {
  struct stat status {};
  return fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISLNK(status.st_mode);
}

}  // namespace

FileStore::FileStore(std::string directory, const ListingLimits& limits)
    : directory_(std::move(directory)), limits_(limits) {
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

const std::string& FileStore::root() {
  std::error_code error;
  if (root_.empty()) root_ = fs::canonical(directory_, error).string();
  if (error) fail(directory_, error.value());
  return root_;
}

// Lists the tree. A link to a folder is walked like the folder, unless it leads to one that the
// walk is in.
class FileStore::Walk {
 public:
  Walk(std::string root, const ListingLimits& limits, LeftOut& left_out)
      : root_(std::move(root)), count_(limits), left_out_(left_out) {}

  // `name` ends with '/' or is empty; `real` is the folder's path below the tree's, without links.
  void folder(const fs::path& path, const std::string& name, const std::string& real) {
    struct stat status {};
    count_.add_folder(root_);
    if (stat(path.c_str(), &status) != 0) fail(path, errno);
    inside_.emplace_back(status.st_dev, status.st_ino);
    std::error_code error;
    for (fs::directory_iterator at(path, error); !error && at != fs::directory_iterator();
         at.increment(error))
      entry(at->path(), name + at->path().filename().string(),
            joined(real, at->path().filename().string()));
    if (error) fail(path, error.value());
    inside_.pop_back();
  }
  std::vector<StoreObject> take() { return std::move(found_); }

 private:
  void entry(const fs::path& path, const std::string& name, std::string real) {
    struct stat status {};
    count_.add_entry(root_);
    if (lstat(path.c_str(), &status) != 0) fail(path, errno);
    if (S_ISLNK(status.st_mode) && !follow(path, name, status, real)) return;
    const std::pair folder_id(status.st_dev, status.st_ino);
    if (S_ISREG(status.st_mode))
      found_.push_back(
          {name, static_cast<std::uint64_t>(status.st_size), time_version(status), real});
    else if (!S_ISDIR(status.st_mode))
      left_out_.add(name, "is neither a file nor a folder");
    else if (std::find(inside_.begin(), inside_.end(), folder_id) != inside_.end())
      left_out_.add(name, "is a link to a folder that it is in");
    else
      folder(path, name + '/', real);
  }

  // Puts the target's status and path in place of the link's; returns false if it is not in the
  // tree.
  bool follow(const fs::path& path, const std::string& name, struct stat& status,
              std::string& real) {
    std::error_code error;
    const std::string target = fs::canonical(path, error).string();
    if (error || stat(path.c_str(), &status) != 0) {
      left_out_.add(name, "is a link that leads nowhere: " +
                              (error ? error.message() : std::generic_category().message(errno)));
      return false;
    }
    if (is_inside(target, root_)) {
      real = below(target, root_);
      return true;
    }
    left_out_.add(name, "is a link out of the store's directory, to " + target);
    return false;
  }

  const std::string root_;
  ListingCount count_;
  LeftOut& left_out_;
  std::vector<StoreObject> found_;
  std::vector<std::pair<dev_t, ino_t>> inside_;  // from the tree's folder to the current one
};

std::vector<StoreObject> FileStore::list(const Retry& retry) {
  auto out = retry.run(directory_, 0, [this] {
    left_out_ = {};
    Walk walk(root(), limits_, left_out_);
    walk.folder(directory_, "", "");
    return walk.take();
  });
  std::sort(out.begin(), out.end(),
            [](const StoreObject& a, const StoreObject& b) { return a.name < b.name; });
  return out;
}

int FileStore::open_without_links(const std::string& below, const std::string& path) {
  int folder = open(root().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) fail(path, errno);
  for (std::size_t at = 0;;) {
    const std::size_t end = std::min(below.find('/', at), below.size());
    const std::string part = below.substr(at, end - at);
    const bool is_last = end == below.size();
    const int flags = is_last ? O_RDONLY | O_NONBLOCK : O_PATH | O_DIRECTORY;
    const int next = openat(folder, part.c_str(), flags | O_NOFOLLOW | O_CLOEXEC);
    const int error = errno;
    const bool met_link = next < 0 && is_link(folder, part);
    close(folder);
    if (met_link)
      throw StoreError(
          StoreFault::denied,
          path + ": '" + part + "' is a link, which no manifest names; make the manifest again");
    if (next < 0) fail(path, error);
    if (is_last) return next;
    folder = next;
    at = end + 1;
  }
}

// A manifest's names are untrusted.
void FileStore::open_object(const StoreObject& object) {
  if (fd_ >= 0 && open_name_ == object.place()) return;
  close_object();
  const std::string padded = '/' + object.place() + '/';
  const std::string path = directory_ + '/' + object.place();
  for (const char* part : {"/../", "/./", "//"})
    if (padded.find(part) != std::string::npos)
      throw StoreError(StoreFault::refused, path + ": leaves the store's directory");
  fd_ = open_without_links(object.place(), path);
  open_name_ = object.place();
}

void FileStore::read(const StoreObject& object, std::uint64_t offset, std::span<std::byte> out) {
  open_object(object);
  const std::string path = directory_ + '/' + object.place();
  const auto check = [&] {
    struct stat status {};
    if (fstat(fd_, &status) != 0) fail(path, errno);
    if (static_cast<std::uint64_t>(status.st_size) != object.bytes ||
        time_version(status) != object.version) {
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
  return std::make_unique<FileStore>(directory_, limits_);
}

}  // namespace tributary::pool
