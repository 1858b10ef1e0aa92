// Checks for states that no packet may cause. They stay on in every build; where one fails, this
// program has a defect.
//
//   TRIBUTARY_INVARIANT(x)        no packet can make it false: the process ends with a core dump
//   TRIBUTARY_INVARIANT_HOLDS(x)  a packet might, by a defect: false, counted and reported;
//                                 the caller leaves out what would follow and ends that epoch alone
//
// In a checked build a breach of either kind is fatal, so that tests and fuzzers stop at it. Any
// thread may call these.
#pragma once

#include <cstdint>

namespace tributary {

// Breaches of the second kind since the process began.
std::uint64_t invariant_breaches();

// Sets the function that is called on a breach: every one of the first kind, and the first few of
// the second kind after this call. nullptr, the initial value: no function is called. It runs on
// the thread that found the breach, which may be a packet loop.
using BreachReport = void (*)(const char* what, const char* file, int line);
void report_breaches(BreachReport to);

// Whether the second kind ends the process, too; the initial value follows assert().
bool breaches_are_fatal();
void make_breaches_fatal(bool fatal);

[[noreturn, gnu::cold, gnu::noinline]] void end_for_breach(const char* what, const char* file,
                                                           int line);
// Returns false. Reports only the first few, so that repeated packets cannot fill the log.
[[gnu::cold, gnu::noinline]] bool note_breach(const char* what, const char* file, int line);

}  // namespace tributary

#define TRIBUTARY_INVARIANT(x)               \
  (__builtin_expect(static_cast<bool>(x), 1) \
       ? void()                              \
       : ::tributary::end_for_breach(#x, __FILE__, __LINE__))
#define TRIBUTARY_INVARIANT_HOLDS(x) \
  (__builtin_expect(static_cast<bool>(x), 1) || ::tributary::note_breach(#x, __FILE__, __LINE__))
