#include "tools/loadgen/port_lane.h"

#include <algorithm>
#include <stdexcept>

namespace tributary::loadgen {
namespace {

impair::Port open(const std::string& devargs, rte_mempool* pool) {
  try {
    return impair::open_port(devargs, pool);
  } catch (const std::runtime_error& e) {
    throw std::runtime_error(std::string(e.what()) + "; the switch must run already");
  }
}

}  // namespace

PortLane::PortLane(const std::string& devargs, rte_mempool* pool) : port_(open(devargs, pool)) {}

PortLane::~PortLane() {
  if (spare_ != nullptr) rte_pktmbuf_free(spare_);
  for (; begin_ < end_; ++begin_) rte_pktmbuf_free(backlog_[begin_]);
  impair::close_port(port_);
}

bool PortLane::link_up(Instant /*now*/) {
  return port_.link_up();
}

std::span<std::byte> PortLane::frame() {
  if (end_ == kBacklog) return {};
  if (spare_ == nullptr) spare_ = rte_pktmbuf_alloc(port_.pool);
  if (spare_ == nullptr) return {};
  return {rte_pktmbuf_mtod(spare_, std::byte*), rte_pktmbuf_tailroom(spare_)};
}

void PortLane::commit(std::size_t bytes) {
  if (spare_ == nullptr || end_ == kBacklog) return;
  spare_->data_len = static_cast<std::uint16_t>(bytes);
  spare_->pkt_len = static_cast<std::uint32_t>(bytes);
  backlog_[end_++] = spare_;
  spare_ = nullptr;
}

std::size_t PortLane::flush() {
  std::size_t sent = 0;
  while (begin_ < end_) {
    const auto wanted = static_cast<std::uint16_t>(std::min<std::size_t>(end_ - begin_, kBurst));
    const std::uint16_t took = port_.transmit(&backlog_[begin_], wanted);
    begin_ += took;
    sent += took;
    if (took < wanted) break;
  }
  if (begin_ > 0) {
    std::move(backlog_.begin() + static_cast<long>(begin_),
              backlog_.begin() + static_cast<long>(end_), backlog_.begin());
    end_ -= begin_;
    begin_ = 0;
  }
  return sent;
}

// Only the first segment of a chained frame, which is refused like any that is cut short.
std::span<const Frame> PortLane::receive(Instant /*now*/) {
  count_ = port_.receive(received_.data(), kBurst);
  for (std::uint16_t i = 0; i < count_; ++i)
    frames_[i] = {rte_pktmbuf_mtod(received_[i], const std::byte*), received_[i]->data_len};
  return std::span(frames_).first(count_);
}

void PortLane::release() {
  rte_pktmbuf_free_bulk(received_.data(), count_);
  count_ = 0;
}

}  // namespace tributary::loadgen
