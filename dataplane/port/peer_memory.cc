#include "dataplane/port/peer_memory.h"

#include <fcntl.h>
#include <rte_memory.h>
#include <rte_pause.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tributary::dataplane {
namespace {

int maps = -1;          // written before the handlers are there
std::atomic_flag busy;  // one position in the file, and one replacement of a mapping

// vfio's mapping of a card's registers: a peer that can take it away has the card.
constexpr std::string_view kRegisters = "anon_inode:[vfio-device]";

// "7f5c8a000000-7f5c8a200000 rw-s 00000000 00:01 1024       /memfd:mem (deleted)"
struct Line {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  bool shared = false;
  std::string_view name;
};

Line parse(std::string_view text) {
  Line line;
  const char* const end = text.data() + text.size();
  const auto begin = std::from_chars(text.data(), end, line.begin, 16);
  if (begin.ptr == end) return line;
  const auto last = std::from_chars(begin.ptr + 1, end, line.end, 16);
  const std::string_view rest(last.ptr, static_cast<std::size_t>(end - last.ptr));
  line.shared = rest.size() > 4 && rest[4] == 's';
  // A name comes after five fields, and may have spaces.
  std::size_t at = 0;
  for (int field = 0; field < 4; ++field) {
    at = rest.find_first_not_of(' ', at);
    at = rest.find(' ', at);
  }
  at = rest.find_first_not_of(' ', at);
  if (at != std::string_view::npos) line.name = rest.substr(at);
  return line;
}

// Reads lines; the end of a line that does not fit is left out.
class LineReader {
 public:
  // False: that was all.
  bool next(std::string_view& line) {
    std::size_t length = 0;
    for (char c = 0; get(c);) {
      if (c == '\n') {
        line = {line_.data(), length};
        return true;
      }
      if (length < line_.size()) line_[length++] = c;
    }
    return false;
  }

 private:
  bool get(char& c) {
    if (at_ == filled_) {
      const ssize_t count = ::read(maps, block_.data(), block_.size());
      if (count <= 0) return false;
      filled_ = static_cast<std::size_t>(count);
      at_ = 0;
    }
    c = block_[at_++];
    return true;
  }

  std::array<char, 4096> block_{};
  std::array<char, 256> line_{};
  std::size_t at_ = 0;
  std::size_t filled_ = 0;
};

// The mapping that `at` is in.
bool replace(const Line& line, std::byte* at) {
  std::byte* const begin = at - (reinterpret_cast<std::uintptr_t>(at) - line.begin);
  const std::size_t bytes = line.end - line.begin;
  // Little of it will be touched: nothing is set aside for the rest.
  constexpr int kZeros = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;
  if (::mmap(begin, bytes, PROT_READ | PROT_WRITE, kZeros, -1, 0) == MAP_FAILED) return false;
  ::madvise(begin, bytes, MADV_NOHUGEPAGE);
  return true;
}

bool look_and_replace(std::byte* at) {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  if (maps < 0 || ::lseek(maps, 0, SEEK_SET) != 0) return false;
  LineReader reader;
  for (std::string_view text; reader.next(text);) {
    const Line line = parse(text);
    if (address < line.begin || address >= line.end) continue;
    // Memory without a file does not fault like this: another thread was here first.
    if (!line.shared) return line.name.empty();
    return line.name != kRegisters && replace(line, at);
  }
  return false;
}

}  // namespace

void open_mappings() {
  if (maps < 0) maps = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
}

bool stand_in_for_peer(void* address) {
  if (rte_mem_virt2memseg_list(address) != nullptr) return false;
  // Nothing that is done in between faults.
  while (busy.test_and_set(std::memory_order_acquire)) rte_pause();
  const bool there = look_and_replace(static_cast<std::byte*>(address));
  busy.clear(std::memory_order_release);
  return there;
}

}  // namespace tributary::dataplane
