#include "dataplane/capture.h"

#include <rte_mbuf.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>

namespace tributary::dataplane {
namespace {

struct ClosePcap {
  void operator()(pcap_t* p) const { pcap_close(p); }
};

}  // namespace

void CaptureFilter::Free::operator()(bpf_program* program) const {
  pcap_freecode(program);
  delete program;
}

CaptureFilter::CaptureFilter(const std::string& expression) {
  const std::unique_ptr<pcap_t, ClosePcap> ethernet(
      pcap_open_dead(DLT_EN10MB, CaptureWish::kMostSnap));
  if (!ethernet) throw std::runtime_error("libpcap has no memory for a filter");
  auto program = std::make_unique<bpf_program>();
  constexpr int kOptimize = 1;
  if (pcap_compile(ethernet.get(), program.get(), expression.c_str(), kOptimize,
                   PCAP_NETMASK_UNKNOWN) != 0)
    throw std::invalid_argument("filter '" + expression + "': " + pcap_geterr(ethernet.get()) +
                                "; man pcap-filter has the language");
  program_.reset(program.release());
}

bool CaptureFilter::takes(std::span<const std::byte> bytes, std::uint32_t length) const {
  if (!program_) return true;
  const auto* frame = reinterpret_cast<const u_char*>(bytes.data());
  return bpf_filter(program_->bf_insns, frame, length, static_cast<u_int>(bytes.size())) != 0;
}

CaptureTap::CaptureTap(std::shared_ptr<const CaptureWish> wish, std::size_t room)
    : wish_(std::move(wish)),
      frames_(std::bit_floor(std::max<std::size_t>(room / wish_->snap, 1))) {
  bytes_.resize(frames_.size() * wish_->snap);
}

bool CaptureTap::wants(CapturePoint point, std::uint16_t port) const {
  if (port >= wish_->ports.size() || !wish_->ports[port]) return false;
  switch (point) {
    case CapturePoint::rx: return wish_->rx;
    case CapturePoint::tx: return wish_->tx;
    case CapturePoint::drop: return wish_->drop;
  }
  return false;
}

std::span<std::byte> CaptureTap::next() {
  const std::size_t tail = tail_.load(std::memory_order_relaxed);
  if (tail - head_.load(std::memory_order_acquire) == frames_.size()) {
    missed_.add();
    return {};
  }
  return std::span(bytes_).subspan((tail & (frames_.size() - 1)) * wish_->snap, wish_->snap);
}

void CaptureTap::push(CapturedFrame frame) {
  const std::size_t tail = tail_.load(std::memory_order_relaxed);
  frame.when = now_;
  frames_[tail & (frames_.size() - 1)] = frame;
  tail_.store(tail + 1, std::memory_order_release);
}

void CaptureTap::offer(CapturePoint point, std::uint16_t port, const rte_mbuf* frame,
                       DropReason reason) {
  if (!wants(point, port)) return;
  // Filters look at headers, which are in the first segment.
  if (!wish_->filter.takes({rte_pktmbuf_mtod(frame, const std::byte*), frame->data_len},
                           frame->pkt_len))
    return;
  const std::span<std::byte> room = next();
  if (room.empty()) return;
  std::uint32_t kept = 0;
  for (const rte_mbuf* part = frame; part != nullptr && kept < room.size(); part = part->next) {
    const auto bytes = std::min<std::uint32_t>(part->data_len, wish_->snap - kept);
    std::memcpy(room.data() + kept, rte_pktmbuf_mtod(part, const std::byte*), bytes);
    kept += bytes;
  }
  push({{}, frame->pkt_len, kept, port, point, reason});
}

void CaptureTap::offer(CapturePoint point, std::uint16_t port, std::span<const std::byte> frame,
                       DropReason reason) {
  const auto length = static_cast<std::uint32_t>(frame.size());
  if (!wants(point, port) || !wish_->filter.takes(frame, length)) return;
  const std::span<std::byte> room = next();
  if (room.empty()) return;
  const std::uint32_t kept = std::min(length, wish_->snap);
  std::memcpy(room.data(), frame.data(), kept);
  push({{}, length, kept, port, point, reason});
}

bool CaptureTap::take(CapturedFrame& frame, std::span<std::byte> bytes) {
  const std::size_t head = head_.load(std::memory_order_relaxed);
  if (head == tail_.load(std::memory_order_acquire)) return false;
  const std::size_t slot = head & (frames_.size() - 1);
  frame = frames_[slot];
  std::memcpy(bytes.data(), bytes_.data() + slot * wish_->snap, frame.kept);
  head_.store(head + 1, std::memory_order_release);
  return true;
}

}  // namespace tributary::dataplane
