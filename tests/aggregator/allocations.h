// Counts what the whole test program takes from the heap: an engine must take nothing once it is
// made, and at start what the configuration says.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <exception>

namespace tributary::aggregator {

std::size_t allocations();  // so far
std::size_t heap_bytes();   // asked for, and not given back

// In its life nothing is allocated, unless it ends by what is thrown.
class NoAllocations {
 public:
  NoAllocations() = default;
  ~NoAllocations() {
    const std::size_t taken = allocations() - before_;
    const bool ends_by_throw = std::uncaught_exceptions() != thrown_;
    EXPECT_TRUE(taken == 0 || ends_by_throw) << taken << " times allocated in this call";
  }
  NoAllocations(const NoAllocations&) = delete;
  NoAllocations& operator=(const NoAllocations&) = delete;

 private:
  int thrown_ = std::uncaught_exceptions();
  std::size_t before_ = allocations();
};

}  // namespace tributary::aggregator
