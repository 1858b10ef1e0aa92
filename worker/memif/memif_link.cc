#include "worker/memif/memif_link.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace tributary::worker {
namespace {

constexpr std::size_t kDefaultDepth = 128;

std::uint64_t as_number(const wire::MacAddress& mac) {
  std::uint64_t number = 0;
  std::memcpy(&number, mac.data(), mac.size());
  return number;
}

FileDescriptor checked(int descriptor) {
  if (descriptor < 0)
    throw std::system_error(errno, std::generic_category(), "memif transport: no descriptor");
  return FileDescriptor(descriptor);
}

}  // namespace

MemifMember::MemifMember(const wire::MacAddress& own_mac)
    : mac(own_mac),
      wake_event(checked(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC))),
      epoll(checked(::epoll_create1(EPOLL_CLOEXEC))) {
  epoll_event readable{EPOLLIN, {.fd = wake_event.get()}};
  if (::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, wake_event.get(), &readable) != 0)
    throw std::system_error(errno, std::generic_category(), "memif transport: epoll");
}

void MemifMember::hear_group(const wire::MacAddress& group) {
  group_mac.store(as_number(group), std::memory_order_relaxed);
}

void MemifMember::wake() {
  woken.store(true);
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto n = ::write(wake_event.get(), &one, sizeof one);
}

// ARP to all concerns each. Other frames to all are of no use to a worker.
bool MemifMember::hears(const wire::EthernetView& frame) const {
  if (frame.destination == mac) return true;
  if (!wire::is_multicast(frame.destination)) return false;
  return frame.ether_type == wire::kEtherTypeArp ||
         as_number(frame.destination) == group_mac.load(std::memory_order_relaxed);
}

MemifLink::~MemifLink() = default;

void MemifLink::connect(Duration answer_limit) {
  const std::lock_guard one(connecting_);
  open(answer_limit);
}

void MemifLink::open(Duration answer_limit) {
  if (up()) return;
  auto rings = std::make_unique<MemifRings>();
  std::unique_ptr<MemifControl> control;
  try {  // ranks are bound to the port that they have had, if it is still free
    const std::uint32_t id = had_id_.value_or(id_);
    control = std::make_unique<MemifControl>(socket_, id, *rings, answer_limit);
  } catch (const MemifConnectError& e) {
    if (e.prospect() == MemifConnectError::Prospect::soon) had_id_.reset();
    throw;
  }
  const std::scoped_lock all(rx_, tx_, watch_);
  told_ = control->told();
  if (told_.switch_ipv4 != 0) had_id_ = told_.id;
  rings_ = std::move(rings);
  control_ = std::move(control);
  set_depth();
  generation_.fetch_add(1, std::memory_order_release);
  up_.store(true, std::memory_order_release);
  wake_all();
}

memif::Told MemifLink::told() {
  const std::lock_guard lock(tx_);
  return told_;
}

// Under rx_.
void MemifLink::disconnect() {
  const std::scoped_lock others(tx_, watch_);
  end_watch();
  up_.store(false, std::memory_order_release);
  control_.reset();
  rings_.reset();
  forget_results();
  next_connect_ns_ = now_ns() + kReconnectInterval.to_ns();
  wake_all();
}

// Under rx_. What cannot be mapped comes as copies.
void MemifLink::take_offers() {
  for (const MemifControl::Offer& offer : control_->take_offers()) {
    auto mapped = SharedResults::map(offer.share, offer.memory.get());
    if (mapped == nullptr) continue;
    {
      const std::lock_guard lock(sharing_);
      results_.push_back(std::move(mapped));
    }
    control_->accept(offer.share);
  }
}

std::shared_ptr<const SharedResults> MemifLink::results(std::uint32_t region) {
  const std::lock_guard lock(sharing_);
  for (const auto& one : results_)
    if (one->region() == region) return one;
  return nullptr;
}

void MemifLink::forget_results() {
  const std::lock_guard lock(sharing_);
  results_.clear();
}

void MemifLink::add(MemifMember& member) {
  const std::scoped_lock all(rx_, tx_);
  members_.push_back(&member);
  set_depth();
}

void MemifLink::remove(MemifMember& member) {
  const std::scoped_lock all(rx_, watch_);
  std::erase(members_, &member);
  if (watcher_ != &member) return;
  end_watch();
  wake_all();  // another one has to watch
}

// Under rx_ and tx_. A depth once given stays.
void MemifLink::set_depth() {
  wants_depth_ = false;
  if (rings_ == nullptr) return;
  std::size_t all = 0;
  for (const MemifMember* member : members_)
    all += std::max(member->depth.load(std::memory_order_relaxed), kDefaultDepth);
  if (all > rings_->depth()) rings_->set_depth(all);
}

void MemifLink::deepen() {
  const std::scoped_lock all(rx_, tx_);
  set_depth();
}

// Under rx_. A frame that is none is the reader's, who counts it.
bool MemifLink::hand_out(std::span<const std::byte> frame, MemifMember& reader) {
  wire::EthernetView eth;
  if (wire::parse_ethernet(frame, eth) != DropReason::none) return true;
  bool for_reader = false;
  for (MemifMember* member : members_) {
    if (!member->hears(eth)) continue;
    member->frames.store(member->frames.load(std::memory_order_relaxed) + 1,
                         std::memory_order_relaxed);
    if (member == &reader) {
      for_reader = true;
      continue;
    }
    member->inbox.put(frame);
    member->rings = true;
  }
  return for_reader;
}

void MemifLink::end_burst(MemifMember& reader) {
  rings_->rx_release();
  if (members_.size() > 1)
    for (MemifMember* member : members_)
      if (std::exchange(member->rings, false) && member != &reader && member->asleep.load())
        member->wake();
  if (wants_depth_) {
    const std::lock_guard writing(tx_);
    set_depth();
  }
  if (rings_->broken()) disconnect();
}

void MemifLink::wake_all() {
  for (MemifMember* member : members_) member->wake();
}

}  // namespace tributary::worker
