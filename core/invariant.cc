#include "core/invariant.h"

#include <atomic>
#include <cstdlib>

namespace tributary {
namespace {

constexpr std::uint64_t kMostTold = 16;

std::atomic<std::uint64_t> breaches{0};
std::atomic<std::uint64_t> told{0};

#ifdef NDEBUG
std::atomic<bool> fatal{false};
#else
std::atomic<bool> fatal{true};
#endif

std::atomic<BreachReport> report{nullptr};

void tell(const char* what, const char* file, int line) {
  if (const BreachReport to = report.load(std::memory_order_relaxed)) to(what, file, line);
}

}  // namespace

std::uint64_t invariant_breaches() {
  return breaches.load(std::memory_order_relaxed);
}

bool breaches_are_fatal() {
  return fatal.load(std::memory_order_relaxed);
}

void make_breaches_fatal(bool yes) {
  fatal.store(yes, std::memory_order_relaxed);
}

void report_breaches(BreachReport to) {
  report.store(to, std::memory_order_relaxed);
  told.store(0, std::memory_order_relaxed);
}

void end_for_breach(const char* what, const char* file, int line) {
  tell(what, file, line);
  std::abort();
}

bool note_breach(const char* what, const char* file, int line) {
  if (breaches_are_fatal()) end_for_breach(what, file, line);
  breaches.fetch_add(1, std::memory_order_relaxed);
  if (told.fetch_add(1, std::memory_order_relaxed) < kMostTold) tell(what, file, line);
  return false;
}

}  // namespace tributary
