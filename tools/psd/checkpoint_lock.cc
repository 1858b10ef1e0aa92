#include "tools/psd/checkpoint_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>

namespace tributary::psd {
namespace {

std::string text_of(int error) {
  std::string text = std::generic_category().message(error);
  if (error == ENOENT) text += "; make it, owned by the user that tributary-psd runs as";
  if (error == EACCES || error == EPERM)
    text += "; give the user that tributary-psd runs as write permission";
  if (error == EROFS) text += "; under systemd, name it in ReadWritePaths=";
  return text;
}

std::string refusal(const std::string& directory, const std::string& why) {
  return "checkpoint.directory " + directory + ": " + why;
}

}  // namespace

std::string why_unusable(const std::string& directory) {
  struct stat status {};
  if (::stat(directory.c_str(), &status) != 0) return refusal(directory, text_of(errno));
  if (!S_ISDIR(status.st_mode)) return refusal(directory, text_of(ENOTDIR));
  if (::access(directory.c_str(), W_OK | X_OK) != 0) return refusal(directory, text_of(errno));
  return {};
}

CheckpointLock::CheckpointLock(std::uint32_t job, const std::string& directory)
    : file_(::open((directory + "/job-" + std::to_string(job) + ".checkpoint.lock").c_str(),
                   O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
  if (!file_) throw std::runtime_error(refusal(directory, text_of(errno)));
  if (::flock(file_.get(), LOCK_EX | LOCK_NB) == 0) return;
  const int error = errno;
  throw std::runtime_error(refusal(directory, error == EWOULDBLOCK
                                                  ? "another server keeps the checkpoints of job " +
                                                        std::to_string(job) +
                                                        " there; end it, or give this one another "
                                                        "directory"
                                                  : text_of(error)));
}

}  // namespace tributary::psd
