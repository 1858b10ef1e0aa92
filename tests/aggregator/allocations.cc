// Operator new and delete of the test program. All forms are replaced, or AddressSanitizer would
// see its own memory come back through those that are.
#include "tests/aggregator/allocations.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

std::atomic<std::size_t> allocations_so_far{0};
std::atomic<std::size_t> bytes_now{0};

constexpr auto kUsual = static_cast<std::align_val_t>(alignof(std::max_align_t));

// In front of what is returned: how much that is.
std::size_t front(std::align_val_t alignment) {
  return std::max(static_cast<std::size_t>(alignment), alignof(std::max_align_t));
}
std::byte* size_of(std::byte* memory) {
  return memory - sizeof(std::size_t);
}

void* allocate_or_not(std::size_t bytes, std::align_val_t alignment) noexcept {
  const std::size_t before = front(alignment);
  const std::size_t whole = (before + bytes + before - 1) / before * before;
  auto* const memory = static_cast<std::byte*>(std::aligned_alloc(before, whole));
  if (memory == nullptr) return nullptr;
  allocations_so_far.fetch_add(1, std::memory_order_relaxed);
  bytes_now.fetch_add(bytes, std::memory_order_relaxed);
  std::memcpy(size_of(memory + before), &bytes, sizeof bytes);
  return memory + before;
}

void* allocate(std::size_t bytes, std::align_val_t alignment) {
  if (void* const memory = allocate_or_not(bytes, alignment)) return memory;
  throw std::bad_alloc();
}

void release(void* given, std::align_val_t alignment) noexcept {
  if (given == nullptr) return;
  auto* const memory = static_cast<std::byte*>(given);
  std::size_t bytes = 0;
  std::memcpy(&bytes, size_of(memory), sizeof bytes);
  bytes_now.fetch_sub(bytes, std::memory_order_relaxed);
  std::free(memory - front(alignment));
}

}  // namespace

void* operator new(std::size_t bytes) {
  return allocate(bytes, kUsual);
}
void* operator new[](std::size_t bytes) {
  return allocate(bytes, kUsual);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, alignment);
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, alignment);
}
void* operator new(std::size_t bytes, const std::nothrow_t& /*may_fail*/) noexcept {
  return allocate_or_not(bytes, kUsual);
}
void* operator new[](std::size_t bytes, const std::nothrow_t& /*may_fail*/) noexcept {
  return allocate_or_not(bytes, kUsual);
}
void* operator new(std::size_t bytes, std::align_val_t alignment,
                   const std::nothrow_t& /*may_fail*/) noexcept {
  return allocate_or_not(bytes, alignment);
}
void* operator new[](std::size_t bytes, std::align_val_t alignment,
                     const std::nothrow_t& /*may_fail*/) noexcept {
  return allocate_or_not(bytes, alignment);
}
void operator delete(void* memory) noexcept {
  release(memory, kUsual);
}
void operator delete[](void* memory) noexcept {
  release(memory, kUsual);
}
void operator delete(void* memory, std::size_t) noexcept {
  release(memory, kUsual);
}
void operator delete[](void* memory, std::size_t) noexcept {
  release(memory, kUsual);
}
void operator delete(void* memory, std::align_val_t alignment) noexcept {
  release(memory, alignment);
}
void operator delete[](void* memory, std::align_val_t alignment) noexcept {
  release(memory, alignment);
}
void operator delete(void* memory, std::size_t, std::align_val_t alignment) noexcept {
  release(memory, alignment);
}
void operator delete[](void* memory, std::size_t, std::align_val_t alignment) noexcept {
  release(memory, alignment);
}
void operator delete(void* memory, const std::nothrow_t& /*may_fail*/) noexcept {
  release(memory, kUsual);
}
void operator delete[](void* memory, const std::nothrow_t& /*may_fail*/) noexcept {
  release(memory, kUsual);
}

namespace tributary::aggregator {

std::size_t allocations() {
  return allocations_so_far.load(std::memory_order_relaxed);
}
std::size_t heap_bytes() {
  return bytes_now.load(std::memory_order_relaxed);
}

}  // namespace tributary::aggregator
