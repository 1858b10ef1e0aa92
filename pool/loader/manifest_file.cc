#include "pool/loader/manifest_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <system_error>

namespace tributary::pool {
namespace {

// Returns false if the file has fewer bytes now, or cannot be read.
bool read_whole(int fd, std::span<std::byte> out) {
  constexpr std::size_t kMostAtOnce = 1 << 30;
  while (!out.empty()) {
    const ssize_t got = read(fd, out.data(), std::min(out.size(), kMostAtOnce));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    out = out.subspan(static_cast<std::size_t>(got));
  }
  return true;
}

}  // namespace

ManifestFile::ManifestFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status {};
  if (fd < 0 || fstat(fd, &status) != 0) {
    const std::string text = std::generic_category().message(errno);
    if (fd >= 0) close(fd);
    throw std::runtime_error(path + ": " + text +
                             "; `tributary pool fill --manifest` makes a manifest");
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  void* const at =
      size == 0 ? MAP_FAILED
                : mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) {
    close(fd);
    throw std::runtime_error(path + ": is empty, or does not fit into memory");
  }
  bytes_ = {static_cast<std::byte*>(at), size};
  const bool whole = read_whole(fd, bytes_);
  close(fd);
  if (!whole) {
    munmap(at, size);
    throw std::runtime_error(path + ": cannot be read, or became shorter meanwhile");
  }
  try {
    manifest_.emplace(bytes_);
  } catch (const ManifestError& error) {
    munmap(at, size);
    throw std::runtime_error(path + ": " + error.what());
  }
}

ManifestFile::~ManifestFile() {
  munmap(bytes_.data(), bytes_.size());
}

void write_manifest_file(const std::string& path, std::span<const std::byte> bytes) {
  const std::string fresh = path + ".new";
  {
    std::ofstream out(fresh, std::ios::binary | std::ios::trunc);
    out.write(reinterpret_cast<const char*>(bytes.data()),
              static_cast<std::streamsize>(bytes.size()));
    if (!out.flush()) throw std::runtime_error(fresh + ": cannot be written");
  }
  if (std::rename(fresh.c_str(), path.c_str()) != 0)
    throw std::runtime_error(path + ": cannot be written");
}

}  // namespace tributary::pool
