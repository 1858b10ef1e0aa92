// Memory in which one job's results are written once, for all its ranks at memif ports of this
// switch (worker/transport/memif_results.h has the format). Ranks map it, and can only read.
//
//   open() ─▶ the next slot, with the tag 0 ─▶ publish() ─▶ the reference that frames carry
//
// Slots are used in turn. A rank that is a whole turn behind finds another tag, drops the frame,
// and asks for the result as for any that was lost; with two windows of slots that is one that the
// others do not wait for (protocol rules 2 and 4).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "worker/transport/file_descriptor.h"
#include "worker/transport/memif_format.h"
#include "worker/transport/memif_results.h"

namespace tributary::dataplane {

class ResultRegion {
 public:
  // For packets of up to `packet_bytes`. Pages are taken when they are first written. Throws
  // std::system_error.
  ResultRegion(std::size_t packet_bytes, std::uint32_t slots);

  // The packet loop that writes.
  [[nodiscard]] std::span<std::byte> open();
  // Shows what was written to the slot that open() has given, from its beginning.
  worker::memif::ResultReference publish(std::size_t packet_bytes);

  // Any thread.
  [[nodiscard]] const worker::memif::Share& share() const { return share_; }
  [[nodiscard]] int memory() const { return memory_.get(); }

 private:
  struct Unmap {
    std::size_t bytes;
    void operator()(std::byte* at) const;
  };
  [[nodiscard]] std::byte* slot() const;

  worker::memif::Share share_;
  worker::FileDescriptor memory_;
  std::unique_ptr<std::byte, Unmap> mapped_;
  std::uint64_t written_ = 0;  // results; that of the last one is its tag
};

}  // namespace tributary::dataplane
