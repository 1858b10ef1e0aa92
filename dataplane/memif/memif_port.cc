#include "dataplane/memif/memif_port.h"

#include <algorithm>
#include <utility>

#include "dataplane/memif/memif_server.h"
#include "dataplane/memif/result_region.h"

namespace tributary::dataplane {

MemifPort::MemifPort(const Devargs& device) : settings_(memif_settings(device)) {
  MemifServer::instance().add(*this);
}

MemifPort::~MemifPort() {
  MemifServer::instance().remove(*this);
}

void MemifPort::open(std::span<rte_mempool* const> pools) {
  for (rte_mempool* const pool : pools) {
    queues_.push_back(std::make_unique<Queue>());
    queues_.back()->pool = pool;
  }
  MemifServer::instance().open(*this);
}

bool MemifPort::receive(std::uint16_t queue, rte_mbuf** frames, std::uint16_t capacity,
                        std::uint16_t& received, const std::byte** in_place, bool* lent) {
  Queue& from = *queues_[queue];
  received = 0;
  MemifRxRing* const ring = from.rx.begin();
  if (ring == nullptr) return true;
  received = ring->receive(from.pool, frames, capacity, from.rx_losses, in_place);
  const bool intact = !ring->broken();
  if (!ring->has_lent()) {
    from.rx.end();
    return intact;
  }
  from.lent = ring;  // the turn goes on
  *lent = true;
  return intact;
}

void MemifPort::give_back(std::uint16_t queue) {
  Queue& from = *queues_[queue];
  std::exchange(from.lent, nullptr)->give_back();
  from.rx.end();
}

bool MemifPort::transmit(std::uint16_t queue, rte_mbuf** frames, std::uint16_t count,
                         std::uint16_t& taken) {
  Queue& to = *queues_[queue];
  bool intact = true;
  taken = 0;
  to.tx.use([&](MemifTxRing& ring) {
    taken = ring.transmit(frames, count, to.unsent);
    intact = !ring.broken();
  });
  return intact;
}

MemifDoor MemifPort::door() const {
  const std::uint64_t at = switch_at_.load(std::memory_order_relaxed);
  return {&settings_, queues(), connected(), static_cast<std::uint32_t>(at >> 16),
          static_cast<std::uint16_t>(at)};
}

void MemifPort::accept(MemifOffer offer) {
  auto connection = std::make_unique<MemifConnection>(std::move(offer));
  connection_ = std::move(connection);
  unchecked_.store(connection_->unchecked(), std::memory_order_relaxed);
  for (std::uint16_t queue = 0; queue < queues(); ++queue) {
    queues_[queue]->rx.lend(connection_->rx(queue));
    queues_[queue]->tx.lend(connection_->tx(queue));
  }
  connected_.store(true, std::memory_order_release);
}

void MemifPort::leave(bool died) {
  if (!connected()) return;
  if (died) deaths_.fetch_add(1, std::memory_order_acq_rel);
  unchecked_.store(false, std::memory_order_relaxed);
  connected_.store(false, std::memory_order_release);
  departures_.fetch_add(1, std::memory_order_acq_rel);
  for (const auto& queue : queues_) {
    queue->rx.take_back();
    queue->tx.take_back();
  }
  connection_.reset();
  const std::lock_guard lock(offers_guard_);
  offers_.clear();
  told_.clear();
  for (auto& region : read_) region.store(0, std::memory_order_relaxed);
}

void MemifPort::offer(const std::shared_ptr<ResultRegion>& results) {
  if (!unchecked()) return;
  const std::uint32_t region = results->share().region;
  {
    const std::lock_guard lock(offers_guard_);
    if (std::ranges::find(told_, region) != told_.end()) return;
    told_.push_back(region);
    offers_.push_back(results);
  }
  MemifServer::instance().look();
}

bool MemifPort::reads(std::uint32_t region) const {
  return std::ranges::any_of(
      read_, [&](const auto& one) { return one.load(std::memory_order_relaxed) == region; });
}

std::vector<std::shared_ptr<ResultRegion>> MemifPort::take_offers() {
  const std::lock_guard lock(offers_guard_);
  return std::exchange(offers_, {});
}

void MemifPort::note_mapped(std::uint32_t region) {
  const std::lock_guard lock(offers_guard_);
  if (std::ranges::find(told_, region) == told_.end() || reads(region)) return;
  read_[next_read_++ % kMostShared].store(region, std::memory_order_relaxed);
}

void MemifPort::disconnect_broken() {
  MemifServer::instance().disconnect_broken(*this);
}

MemifPort::Losses MemifPort::losses() const {
  Losses all;
  for (const auto& queue : queues_) {
    all.unusable += queue->rx_losses.unusable.get();
    all.no_buffers += queue->rx_losses.no_buffers.get();
    all.unsent += queue->unsent.get();
  }
  return all;
}

void MemifPort::note_refusal(const std::string& why) {
  const std::lock_guard lock(refusal_guard_);
  refusal_ = why;
  ++refused_;
}

std::optional<std::string> MemifPort::take_refusal() {
  const std::lock_guard lock(refusal_guard_);
  if (refused_ == 0) return std::nullopt;
  std::string text = "a memif client was turned away";
  if (refused_ > 1) text += " (the last of " + std::to_string(refused_) + ")";
  refused_ = 0;
  return text + ": " + std::exchange(refusal_, {});
}

}  // namespace tributary::dataplane
