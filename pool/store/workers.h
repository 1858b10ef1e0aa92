// Runs work on several threads, and on fewer where the system has no more of them.
#pragma once

#include <cstddef>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

namespace tributary::pool {

// Calls work(i) at once for i from 0 on, `count` times at most and once at least, and returns when
// all calls have: each must take of what is left to do until nothing is. work(0) is called by this
// thread, and may throw; the others must not.
template <typename Work>
void run_workers(std::size_t count, const Work& work) {
  std::vector<std::jthread> threads;  // joined at the end, however it comes
  try {
    for (std::size_t i = 1; i < count; ++i) threads.emplace_back([&work, i] { work(i); });
  } catch (const std::system_error&) {
  } catch (const std::bad_alloc&) {
  }
  work(0);
}

}  // namespace tributary::pool
