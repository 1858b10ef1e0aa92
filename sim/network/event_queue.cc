#include "sim/network/event_queue.h"

#include <algorithm>
#include <bit>

namespace tributary::sim {
namespace {

bool later(const Event& a, const Event& b) {
  return a.at != b.at ? a.at > b.at : a.order > b.order;
}

void push_to(std::vector<Event>& heap, const Event& event) {
  heap.push_back(event);
  std::push_heap(heap.begin(), heap.end(), later);
}
Event pop_from(std::vector<Event>& heap) {
  std::pop_heap(heap.begin(), heap.end(), later);
  const Event event = heap.back();
  heap.pop_back();
  return event;
}

}  // namespace

EventQueue::EventQueue() : heads_(kBuckets, kNone) {}

void EventQueue::push(const Event& event) {
  Event ordered = event;
  ordered.order = next_order_++;
  ++size_;
  place(ordered);
}

void EventQueue::place(const Event& event) {
  const std::int64_t bucket = bucket_of(event);
  if (bucket <= current_) return push_to(near_, event);
  if (bucket - current_ >= kBuckets) return push_to(far_, event);
  std::uint32_t index = free_;
  if (index == kNone) {
    index = static_cast<std::uint32_t>(listed_.size());
    listed_.emplace_back();
  } else {
    free_ = listed_[index].next;
  }
  const auto slot = static_cast<std::uint32_t>(bucket % kBuckets);
  listed_[index] = {event, heads_[slot]};
  heads_[slot] = index;
  used_[slot / 64] |= 1ULL << (slot % 64);
  ++in_wheel_;
}

Event EventQueue::pop() {
  if (near_.empty()) advance();
  --size_;
  return pop_from(near_);
}

// The next bucket of the wheel that holds something; only when one does.
std::int64_t EventQueue::next_used_bucket() const {
  const auto first = static_cast<std::uint32_t>((current_ + 1) % kBuckets);
  std::uint32_t word = first / 64;
  std::uint64_t bits = used_[word] & (~0ULL << (first % 64));
  while (bits == 0) {
    word = (word + 1) % (kBuckets / 64);
    bits = used_[word];
  }
  const std::uint32_t slot = word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits));
  return current_ + 1 + (slot - first) % kBuckets;
}

// Moves to the next bucket that has events, and takes into the wheel what has come into its reach.
void EventQueue::advance() {
  const bool use_far = in_wheel_ == 0;
  current_ = use_far ? bucket_of(far_.front()) : next_used_bucket();
  const auto slot = static_cast<std::uint32_t>(current_ % kBuckets);
  std::uint32_t index = heads_[slot];
  heads_[slot] = kNone;
  used_[slot / 64] &= ~(1ULL << (slot % 64));
  while (index != kNone) {
    Listed& listed = listed_[index];
    near_.push_back(listed.event);
    const std::uint32_t next = listed.next;
    listed.next = free_;
    free_ = index;
    index = next;
    --in_wheel_;
  }
  std::make_heap(near_.begin(), near_.end(), later);
  // Far events lie beyond the wheel as it was, hence after everything in it.
  while (!far_.empty() && bucket_of(far_.front()) - current_ < kBuckets) place(pop_from(far_));
}

}  // namespace tributary::sim
