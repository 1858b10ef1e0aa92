#include "core/net/window_terms.h"

#include <cstring>

#include "core/net/byte_order.h"

namespace tributary::wire {
namespace {

struct WireWindowRequest {
  be32 magic;
  be32 job;
  be32 rank;
  be64 ring_address;
  be32 ring_rkey;
  be32 op_bytes;
  std::uint8_t dtype;
  std::uint8_t reduce_op;
  be16 ops;
};
static_assert(sizeof(WireWindowRequest) == WindowRequest::kBytes);
struct WireWindowGrant {
  be32 magic;
  be32 rkey;
  be64 address;
  be32 ops;
  be32 chunk_bytes;
};
static_assert(sizeof(WireWindowGrant) == WindowGrant::kBytes);

constexpr std::uint32_t kMagic = 0x54524232;  // "TRB2"

template <typename Wire>
bool take(std::span<const std::byte> data, Wire& w) {
  if (data.size() < sizeof w) return false;
  std::memcpy(&w, data.data(), sizeof w);
  return w.magic == kMagic;
}
template <typename Wire>
std::array<std::byte, sizeof(Wire)> bytes_of(const Wire& w) {
  std::array<std::byte, sizeof(Wire)> data;
  std::memcpy(data.data(), &w, sizeof w);
  return data;
}

}  // namespace

bool parse_window_request(std::span<const std::byte> data, WindowRequest& request) {
  WireWindowRequest w;
  if (!take(data, w)) return false;
  request = {w.job, w.rank, w.ring_address, w.ring_rkey, w.op_bytes, w.dtype, w.reduce_op, w.ops};
  return true;
}

std::array<std::byte, WindowRequest::kBytes> write_window_request(const WindowRequest& r) {
  return bytes_of(WireWindowRequest{kMagic, r.job, r.rank, r.ring_address, r.ring_rkey, r.op_bytes,
                                    r.dtype, r.reduce_op, r.ops});
}

bool parse_window_grant(std::span<const std::byte> data, WindowGrant& grant) {
  WireWindowGrant w;
  if (!take(data, w)) return false;
  grant = {w.rkey, w.address, w.ops, w.chunk_bytes};
  return true;
}

std::array<std::byte, WindowGrant::kBytes> write_window_grant(const WindowGrant& g) {
  return bytes_of(WireWindowGrant{kMagic, g.rkey, g.address, g.ops, g.chunk_bytes});
}

}  // namespace tributary::wire
