#include "tools/program/cpu_check.h"

#include <unistd.h>

#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tributary::tools {
namespace {

struct Instruction {
  const char* name;
  unsigned bit;  // of ECX, CPUID leaf 1
};
constexpr Instruction kDemanded[] = {{"SSSE3", 9}, {"SSE4.1", 19}, {"SSE4.2", 20}, {"POPCNT", 23}};

// A text in memory of the caller; what exceeds that is left out.
struct Text {
  char* data;
  std::size_t size;
  std::size_t length = 0;

  void add(const char* more) {
    for (; *more != '\0' && length < size; ++more) data[length++] = *more;
  }
};

const char* file_name(const char* path) {
  const char* const slash = std::strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

}  // namespace

std::size_t old_cpu_error(const char* program, std::uint32_t cpuid_1_ecx, char* text,
                          std::size_t size) {
  Text error{text, size};
  bool lacks = false;
  for (const Instruction& instruction : kDemanded) {
    if ((cpuid_1_ecx >> instruction.bit & 1) != 0) continue;
    if (!lacks) {
      error.add(file_name(program));
      error.add(": this CPU lacks ");
    } else {
      error.add(", ");
    }
    error.add(instruction.name);
    lacks = true;
  }
  if (lacks)
    error.add(
        "; required: x86-64 with SSE4.2 (in QEMU: -cpu Nehalem or a later model, or -cpu host "
        "with KVM)\n");
  return error.length;
}

// Nothing but system calls: libraries have not been initialized yet.
void end_on_old_cpu([[maybe_unused]] int argc, [[maybe_unused]] char** argv,
                    [[maybe_unused]] char** environment) {
#if defined(__x86_64__)
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0) return;
  char text[512];
  const std::size_t length = old_cpu_error(argc > 0 ? argv[0] : "tributary", c, text, sizeof text);
  if (length == 0) return;
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text, length);
  ::_exit(1);
#endif
}

}  // namespace tributary::tools
