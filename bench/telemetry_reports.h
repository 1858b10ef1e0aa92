// Telemetry reports as a switch's control thread writes them: a sink's own hop, and the headers of
// the packet with the hop before it. Each report is of the next flow in turn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tributary::bench {

inline constexpr std::uint32_t kReporter = 99;

class RecordedReports {
 public:
  // So many reports of so many flows; `per_datagram`: as many as fit 1,400 bytes if 0. All
  // datagrams are of the same length.
  RecordedReports(std::size_t reports, std::uint32_t flows, std::size_t per_datagram);

  [[nodiscard]] std::size_t datagrams() const { return count_; }
  [[nodiscard]] std::size_t per_datagram() const { return per_datagram_; }
  [[nodiscard]] std::size_t datagram_bytes() const { return bytes_; }
  // Gives the datagrams from `first` on, as many, the next numbers of the sequence; they lie one
  // behind the other.
  std::span<const std::byte> numbered(std::size_t first, std::size_t count);

 private:
  std::vector<std::byte> all_;
  std::size_t bytes_ = 0;
  std::size_t per_datagram_ = 0;
  std::size_t count_ = 0;
  std::uint32_t sequence_ = 0;
};

}  // namespace tributary::bench
