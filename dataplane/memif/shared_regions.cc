#include "dataplane/memif/shared_regions.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "dataplane/memif/memif_refusal.h"

namespace tributary::dataplane {
namespace {

// Memory of huge pages is left out: a hole in it faults where no page is left.
bool is_sealed_memory(int memory) {
  struct statfs of {};
  const int seals = ::fcntl(memory, F_GET_SEALS);
  return seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && ::fstatfs(memory, &of) == 0 &&
         (of.f_type == TMPFS_MAGIC || of.f_type == RAMFS_MAGIC);
}

std::string region_text(std::size_t index) {
  return "region " + std::to_string(index);
}

}  // namespace

void SharedRegions::Unmap::operator()(std::byte* at) const {
  ::munmap(at, bytes);
}

// Returns the inode.
std::uint64_t SharedRegions::check(int memory, std::uint64_t bytes) const {
  const std::string which = region_text(regions_.size());
  if (!is_sealed_memory(memory))
    throw MemifRefusal(which + " is no memfd of small pages with F_SEAL_SHRINK");
  struct stat file {};
  if (::fstat(memory, &file) != 0 || bytes == 0 || bytes > static_cast<std::uint64_t>(file.st_size))
    throw MemifRefusal(which + " is said to have " + std::to_string(bytes) + " bytes, and has " +
                       std::to_string(file.st_size));
  std::uint64_t all = bytes;
  for (const Region& other : regions_) {
    all += other.bytes;
    if (other.file == file.st_ino) throw MemifRefusal(which + " is the memory of another one");
  }
  if (all > kMostSharedBytes)
    throw MemifRefusal("the regions have more than " + std::to_string(kMostSharedBytes) + " bytes");
  return file.st_ino;
}

void SharedRegions::add(int memory, std::uint64_t bytes) {
  const std::uint64_t file = check(memory, bytes);
  void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
  if (at == MAP_FAILED)
    throw MemifRefusal(region_text(regions_.size()) + " cannot be mapped: " + std::strerror(errno));
  regions_.push_back({{static_cast<std::byte*>(at), Unmap{bytes}}, bytes, file});
}

}  // namespace tributary::dataplane
