#include "sim/node/held_data.h"

#include <sanitizer/asan_interface.h>

#include <algorithm>

#include "aggregator/chunk/fold_queue.h"

namespace tributary::sim {
namespace {

using aggregator::FoldQueue;

// As in dataplane/frame/frame_pool.h and dataplane/frame/held_frames.h.
constexpr std::uint32_t kBurst = 32;
constexpr std::size_t kMostBytes = std::size_t{640} << 10;

void open_up(const std::vector<std::byte>& copy) {
  ASAN_UNPOISON_MEMORY_REGION(copy.data(), copy.capacity());
}

void copy(const FrameRef& frame, std::vector<std::byte>& to) {
  open_up(to);
  to.assign(frame.bytes().begin(), frame.bytes().end());
}

void spoil(std::vector<std::byte>& copy) {
  for (std::byte& b : copy) b = ~b;
  ASAN_POISON_MEMORY_REGION(copy.data(), copy.capacity());
}

bool is_data(const wire::Packet& p) {
  const bool data = p.header.type == wire::PacketType::contribution ||
                    p.header.type == wire::PacketType::aggregate;
  return data && !p.payload.empty();
}

}  // namespace

HeldData::HeldData(std::uint32_t most, std::size_t ports, std::uint64_t seed) : random_(seed) {
  if (most == 0) return;
  most_frames_ = random_.below(2) == 0 ? most : 1 + random_.below(most);
  most_burst_ = std::min(most_frames_, random_.below(2) == 0 ? kBurst : 1 + random_.below(kBurst));
  most_bytes_ = random_.below(4) == 0 ? 100 + random_.below(20'000) : kMostBytes;
  const bool all = random_.below(2) == 0;
  for (std::size_t port = 0; port < ports; ++port) checks_.push_back(random_.below(3) != 0 || all);
  copies_.resize(std::size_t{2} * most_frames_);
  begin_burst();
}

HeldData::~HeldData() {
  for (const std::vector<std::byte>& copy : copies_) open_up(copy);
  open_up(lent_);
}

std::span<const std::byte> HeldData::keep(const FrameRef& frame) {
  std::vector<std::byte>& kept = copies_[next_copy_];
  copy(frame, kept);
  next_copy_ = (next_copy_ + 1) % copies_.size();
  ++held_;
  held_bytes_ += frame.wire_bytes();
  return kept;
}

std::span<const std::byte> HeldData::lend(const FrameRef& frame) {
  copy(frame, lent_);
  return lent_;
}

void HeldData::give_back() {
  spoil(lent_);
}

// The first speaks for all of its burst; what waits already is not made for one that does not.
void HeldData::begin_packet(std::uint16_t port, aggregator::Engine& engine) {
  if (!holds()) return;
  const bool decides = first_of_burst_;
  first_of_burst_ = false;
  // A port that came with a change is a device like the first one's.
  if (!decides || sums_wait_ || !checks_[port % checks_.size()]) return;
  engine.begin_burst();
  sums_wait_ = true;
}

void HeldData::end_frame(aggregator::Engine& engine) {
  if (holds() && --left_of_burst_ == 0) end_burst(engine);
}

void HeldData::finish(aggregator::Engine& engine) {
  if (!holds()) return;
  if (!waiting_.empty()) count(HeldEvent::turn_end);
  make_sums(engine);
  begin_burst();
}

void HeldData::begin_burst() {
  left_of_burst_ = random_.below(2) == 0 ? most_burst_ : 1 + random_.below(most_burst_);
  first_of_burst_ = true;
}

void HeldData::end_burst(aggregator::Engine& engine) {
  const bool full = held_ + most_burst_ > most_frames_ || held_bytes_ >= most_bytes_;
  if (full && !waiting_.empty()) count(HeldEvent::full);
  if (!sums_wait_ || full) make_sums(engine);
  for (Waiting& w : waiting_) {
    if (!w.over_burst) count(HeldEvent::over_burst);
    w.over_burst = true;
  }
  begin_burst();
}

void HeldData::make_sums(aggregator::Engine& engine) {
  if (sums_wait_) engine.end_burst();
  sums_wait_ = false;
  waiting_.clear();
  for (; held_ > 0; --held_) spoil(copies_[(next_copy_ + copies_.size() - held_) % copies_.size()]);
  held_bytes_ = 0;
}

std::vector<HeldData::Waiting>::iterator HeldData::find(const wire::Header& h) {
  return std::find_if(waiting_.begin(), waiting_.end(),
                      [&](const Waiting& w) { return w.is_of(h); });
}

void HeldData::note_packet(const wire::Packet& packet, aggregator::Decision decision,
                           bool summed_at_once, const aggregator::Engine& engine) {
  if (!sums_wait_) return;
  if (!waiting_.empty()) note_epoch(packet.header.job, engine);
  if (decision.reason != DropReason::none) return;
  const bool added = decision.verdict == aggregator::Verdict::opened ||
                     decision.verdict == aggregator::Verdict::folded;
  if (!added) return note_end(packet, decision);
  if (is_data(packet) && !summed_at_once) note_data(packet.header, packet.payload.size());
}

void HeldData::note_epoch(std::uint32_t job, const aggregator::Engine& engine) {
  const auto running = engine.running_epoch(job);
  const auto over = [&](const Waiting& w) { return w.job == job && w.epoch != running; };
  if (std::erase_if(waiting_, over) != 0) count(HeldEvent::aborted);
}

void HeldData::note_data(const wire::Header& h, std::size_t payload_bytes) {
  auto at = find(h);
  if (at == waiting_.end()) {
    const auto of_shard = [&](const Waiting& w) { return w.shard == h.shard; };
    const auto waiting = std::count_if(waiting_.begin(), waiting_.end(), of_shard);
    if (static_cast<std::size_t>(waiting) >= FoldQueue::most_chunks(payload_bytes)) {
      count(HeldEvent::queue_full);
      std::erase_if(waiting_, of_shard);
    }
    at = waiting_.insert(waiting_.end(), {h.job, h.seq, h.epoch, h.shard, 0, false});
  }
  if (++at->data < FoldQueue::kMostData) return;
  count(HeldEvent::pass_full);
  waiting_.erase(at);
}

void HeldData::note_end(const wire::Packet& packet, aggregator::Decision decision) {
  const auto at = find(packet.header);
  if (at == waiting_.end()) return;
  using aggregator::Verdict;
  if (packet.header.type == wire::PacketType::result && decision.verdict == Verdict::completed)
    count(HeldEvent::replaced);
  else if (decision.verdict == Verdict::completed || decision.verdict == Verdict::sent_up)
    count(HeldEvent::completed);
  else if (decision.verdict == Verdict::forwarded)
    count(HeldEvent::given_up);
  else
    return;
  waiting_.erase(at);
}

void HeldData::note_hosted() {
  if (!waiting_.empty()) count(HeldEvent::hosted);
}

}  // namespace tributary::sim
