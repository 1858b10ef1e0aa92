#include "dataplane/io/capture.h"

#include <rte_mbuf.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>

#include "dataplane/frame/filter_words.h"

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
  const auto refuse = [&](const std::string& why) {
    return std::invalid_argument("filter '" + expression + "': " + why);
  };
  if (expression.size() > kMostBytes)
    throw refuse("it has more than " + std::to_string(kMostBytes) + " characters");
  if (const auto word = looked_up(expression))
    throw refuse("'" + std::string(*word) +
                 "' is no word, number or address of man pcap-filter; names are not looked up");
  const std::unique_ptr<pcap_t, ClosePcap> ethernet(
      pcap_open_dead(DLT_EN10MB, CaptureWish::kMostSnap));
  if (!ethernet) throw std::runtime_error("libpcap has no memory for a filter");
  auto program = std::make_unique<bpf_program>();
  constexpr int kOptimize = 1;
  if (pcap_compile(ethernet.get(), program.get(), expression.c_str(), kOptimize,
                   PCAP_NETMASK_UNKNOWN) != 0)
    throw refuse(std::string(pcap_geterr(ethernet.get())) + "; man pcap-filter has the language");
  program_.reset(program.release());
}

bool CaptureFilter::takes(std::span<const std::byte> bytes, std::uint32_t length) const {
  if (!program_) return true;
  const auto* frame = reinterpret_cast<const u_char*>(bytes.data());
  return bpf_filter(program_->bf_insns, frame, length, static_cast<u_int>(bytes.size())) != 0;
}

CaptureTap::CaptureTap(std::shared_ptr<const CaptureWish> wish, std::size_t room)
    : wish_(std::move(wish)),
      free_(std::bit_floor(std::max<std::size_t>(room / wish_->snap, 1))),
      seen_(free_.capacity()) {
  bytes_.resize(free_.capacity() * wish_->snap);
  for (std::uint32_t slot = 0; slot < free_.capacity(); ++slot) free_.push(std::uint32_t{slot});
}

bool CaptureTap::wants(CapturePoint point, std::uint16_t port) const {
  if (port >= wish_->ports.size() || !wish_->ports[port] || ignored_[port]) return false;
  switch (point) {
    case CapturePoint::rx: return wish_->rx;
    case CapturePoint::tx: return wish_->tx;
    case CapturePoint::drop: return wish_->drop;
    case CapturePoint::verdict: return wish_->verdict;
  }
  return false;
}

std::span<std::byte> CaptureTap::room_of(std::uint32_t slot) {
  return std::span(bytes_).subspan(std::size_t{slot} * wish_->snap, wish_->snap);
}

std::span<std::byte> CaptureTap::begin(CapturedFrame& frame) {
  frame.missed = missed_.get();
  if (free_.pop(frame.slot)) return room_of(frame.slot);
  missed_.add();
  return {};
}

void CaptureTap::keep(CapturedFrame& seen, const rte_mbuf* frame) {
  if (!wants(seen.point, seen.port)) return;
  // Filters look at headers, which are in the first segment.
  if (!wish_->filter.takes({rte_pktmbuf_mtod(frame, const std::byte*), frame->data_len},
                           frame->pkt_len))
    return;
  seen.when = now_;
  seen.length = frame->pkt_len;
  const std::span<std::byte> room = begin(seen);
  if (room.empty()) return;
  for (const rte_mbuf* part = frame; part != nullptr && seen.kept < room.size();
       part = part->next) {
    const auto bytes = std::min<std::uint32_t>(part->data_len, wish_->snap - seen.kept);
    std::memcpy(room.data() + seen.kept, rte_pktmbuf_mtod(part, const std::byte*), bytes);
    seen.kept += bytes;
  }
  seen_.push(CapturedFrame(seen));
}

void CaptureTap::keep(CapturedFrame& seen, std::span<const std::byte> frame) {
  seen.when = now_;
  seen.length = static_cast<std::uint32_t>(frame.size());
  if (!wants(seen.point, seen.port) || !wish_->filter.takes(frame, seen.length)) return;
  const std::span<std::byte> room = begin(seen);
  if (room.empty()) return;
  seen.kept = std::min(seen.length, wish_->snap);
  std::memcpy(room.data(), frame.data(), seen.kept);
  seen_.push(CapturedFrame(seen));
}

void CaptureTap::offer(CapturePoint point, std::uint16_t port, const rte_mbuf* frame,
                       DropReason reason) {
  CapturedFrame seen{.port = port, .point = point, .reason = reason};
  keep(seen, frame);
}

void CaptureTap::offer(CapturePoint point, std::uint16_t port, std::span<const std::byte> frame,
                       DropReason reason) {
  CapturedFrame seen{.port = port, .point = point, .reason = reason};
  keep(seen, frame);
}

void CaptureTap::tell(std::uint16_t port, const rte_mbuf* frame, const FrameVerdict& verdict) {
  CapturedFrame seen{.port = port, .point = CapturePoint::verdict, .verdict = verdict};
  keep(seen, frame);
}

void CaptureTap::tell(std::uint16_t port, std::span<const std::byte> frame,
                      const FrameVerdict& verdict) {
  CapturedFrame seen{.port = port, .point = CapturePoint::verdict, .verdict = verdict};
  keep(seen, frame);
}

bool CaptureTap::take(CapturedFrame& frame, std::span<std::byte> bytes) {
  if (!seen_.pop(frame)) return false;
  std::memcpy(bytes.data(), room_of(frame.slot).data(), frame.kept);
  free_.push(std::uint32_t{frame.slot});
  return true;
}

}  // namespace tributary::dataplane
