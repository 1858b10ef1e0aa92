#include "worker/wait/completion_flag.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <ctime>

namespace tributary::worker {
namespace {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value,
           const timespec* limit) {
  return ::syscall(SYS_futex, &word, operation | FUTEX_PRIVATE_FLAG, value, limit, nullptr, 0);
}

}  // namespace

void CompletionFlag::set() {
  if (state_.exchange(kSet, std::memory_order_acq_rel) == kAwaited)
    futex(state_, FUTEX_WAKE, INT_MAX, nullptr);
}

bool CompletionFlag::wait_for(Duration limit) {
  std::uint32_t seen = kClear;
  state_.compare_exchange_strong(seen, kAwaited, std::memory_order_acq_rel);
  if (seen == kSet) return true;
  const std::int64_t ns = std::clamp<std::int64_t>(limit.to_ns(), 0, 3'600'000'000'000);
  const timespec t{ns / 1'000'000'000, ns % 1'000'000'000};
  futex(state_, FUTEX_WAIT, kAwaited, &t);
  return is_set();
}

}  // namespace tributary::worker
