// Checks of what must never happen, whatever packets say; they stay on in every build, and where
// they fail this program is wrong.
//
//   TRIBUTARY_INVARIANT(x)        no packet can make it false: the process ends with a core dump
//   TRIBUTARY_INVARIANT_HOLDS(x)  a packet might, by a defect: false, counted and reported;
//                                 the caller leaves out what would follow and ends that epoch alone
//
// For a checked build a breach of either kind is fatal, so that tests and fuzzers stop where it is.
// Any thread.
#pragma once

#include <cstdint>

namespace tributary {

// Breaches of the second kind since the process began.
std::uint64_t invariant_breaches();

// Sets what is called on a breach: every one of the first kind; of the second, the first few after
// this call. nullptr, the initial value: nothing is called.
// The caller is the thread that found the breach, which may be a packet loop.
using BreachReport = void (*)(const char* what, const char* file, int line);
void report_breaches(BreachReport to);

// Whether the second kind ends the process, too; at first, where assert() does.
bool breaches_are_fatal();
void make_breaches_fatal(bool fatal);

[[noreturn, gnu::cold, gnu::noinline]] void end_for_breach(const char* what, const char* file,
                                                           int line);
// Returns false. Reports the first few: packets that repeat one fill no log.
[[gnu::cold, gnu::noinline]] bool note_breach(const char* what, const char* file, int line);

}  // namespace tributary

#define TRIBUTARY_INVARIANT(x)               \
  (__builtin_expect(static_cast<bool>(x), 1) \
       ? void()                              \
       : ::tributary::end_for_breach(#x, __FILE__, __LINE__))
#define TRIBUTARY_INVARIANT_HOLDS(x) \
  (__builtin_expect(static_cast<bool>(x), 1) || ::tributary::note_breach(#x, __FILE__, __LINE__))
