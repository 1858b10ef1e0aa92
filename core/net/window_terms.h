// The private data with which a rank and the switch agree on a connected queue pair (docs/rdma.md):
// what the rank sums and where its results go, and the window of addresses that it writes to.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tributary::wire {

// In REQ. All numbers are big-endian.
//   "TRB2" 4 │ job 4 │ rank 4 │ ring address 8 │ ring rkey 4 │ op bytes 4 │ dtype 1 │ reduce op 1
//   │ ops 2
struct WindowRequest {
  static constexpr std::size_t kBytes = 32;
  std::uint32_t job = 0;
  std::uint32_t rank = 0;
  std::uint64_t ring_address = 0;
  std::uint32_t ring_rkey = 0;
  std::uint32_t op_bytes = 0;
  std::uint8_t dtype = 0;  // raw numbers: the receiver checks them
  std::uint8_t reduce_op = 0;
  std::uint16_t ops = 0;  // most in the window: the rank's ring has room for twice as many
};
// False: another program's.
bool parse_window_request(std::span<const std::byte> data, WindowRequest& request);
std::array<std::byte, WindowRequest::kBytes> write_window_request(const WindowRequest& request);

// In REP.
//   "TRB2" 4 │ rkey 4 │ window address 8 │ ops in the window 4 │ chunk bytes 4
struct WindowGrant {
  static constexpr std::size_t kBytes = 24;
  std::uint32_t rkey = 0;
  std::uint64_t address = 0;
  std::uint32_t ops = 0;  // in the window; the ring of results has twice as many
  std::uint32_t chunk_bytes = 0;
};
bool parse_window_grant(std::span<const std::byte> data, WindowGrant& grant);
std::array<std::byte, WindowGrant::kBytes> write_window_grant(const WindowGrant& grant);

}  // namespace tributary::wire
