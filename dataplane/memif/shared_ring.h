// One ring of a memif client, as the server sees it.
//
// The client may write anything there at any time: each field is read once, atomically, and into
// memory of our own, where it is checked.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "worker/transport/memif_format.h"

namespace tributary::dataplane {

class SharedRing {
 public:
  using Descriptor = worker::memif::Descriptor;

  static constexpr std::size_t bytes(std::uint8_t log2_size) {
    return sizeof(worker::memif::RingHeader) + (sizeof(Descriptor) << log2_size);
  }
  // Rings and descriptors lie at multiples of this.
  static constexpr std::size_t kAlignment = 16;

  // `at`: bytes(log2_size) that stay mapped, aligned.
  SharedRing(std::byte* at, std::uint8_t log2_size)
      : at_(at), mask_(static_cast<std::uint16_t>((1u << log2_size) - 1)) {}

  [[nodiscard]] std::uint32_t size() const { return std::uint32_t{mask_} + 1; }
  [[nodiscard]] std::uint32_t cookie() const {
    return std::atomic_ref(*reinterpret_cast<std::uint32_t*>(at_ + kCookie))
        .load(std::memory_order_relaxed);
  }
  // A new connection: both indices are 0, and the client's consumer is woken or not.
  void begin(bool interrupts) {
    index(kHead).store(0, std::memory_order_relaxed);
    index(kTail).store(0, std::memory_order_relaxed);
    if (!interrupts)
      index(kFlags).store(worker::memif::kRingNoInterrupts, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint16_t head() const { return index(kHead).load(std::memory_order_acquire); }
  void set_tail(std::uint16_t tail) { index(kTail).store(tail, std::memory_order_release); }
  // Returns whether the client wants to be woken. Its part: to ask for that, then to read the tail.
  bool publish_tail(std::uint16_t tail) {
    index(kTail).exchange(tail, std::memory_order_seq_cst);
    return (index(kFlags).load(std::memory_order_seq_cst) & worker::memif::kRingNoInterrupts) == 0;
  }

  [[nodiscard]] Descriptor descriptor(std::uint16_t number) const {
    return std::bit_cast<Descriptor>(std::array{word(number, 0).load(std::memory_order_relaxed),
                                                word(number, 1).load(std::memory_order_relaxed)});
  }
  // Writes length and flags; the buffer is that of `was`.
  void write(std::uint16_t number, const Descriptor& was, std::uint32_t length,
             std::uint16_t flags) {
    const auto words = std::bit_cast<std::array<std::uint64_t, 2>>(
        Descriptor{flags, was.region, length, was.offset, was.metadata});
    word(number, 0).store(words[0], std::memory_order_relaxed);
  }

 private:
  static constexpr std::size_t kCookie = offsetof(worker::memif::RingHeader, cookie);
  static constexpr std::size_t kFlags = offsetof(worker::memif::RingHeader, flags);
  static constexpr std::size_t kHead = offsetof(worker::memif::RingHeader, head);
  static constexpr std::size_t kTail = offsetof(worker::memif::RingHeader, tail);

  [[nodiscard]] std::atomic_ref<std::uint16_t> index(std::size_t offset) const {
    return std::atomic_ref(*reinterpret_cast<std::uint16_t*>(at_ + offset));
  }
  [[nodiscard]] std::atomic_ref<std::uint64_t> word(std::uint16_t number, std::size_t which) const {
    std::byte* const descriptor =
        at_ + sizeof(worker::memif::RingHeader) +
        std::size_t{static_cast<std::uint16_t>(number & mask_)} * sizeof(Descriptor);
    return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(descriptor + which * 8));
  }

  std::byte* at_;
  std::uint16_t mask_;
};

}  // namespace tributary::dataplane
