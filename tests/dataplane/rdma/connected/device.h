// A model of a RoCE device with one connected queue pair, and the program that uses it: it writes
// ops into the switch's window, executes what the switch writes into its ring, and checks each sum.
//
//   RC: requests in order, go-back-N after a NAK or silence; responses, NAKs and RNR NAKs of its
//   own UC: requests once; executes any WRITE of one packet
//
// Not the product's code: a plain reading of the standard (IBA volume 1, 9.7 and 9.8).
#pragma once

#include <map>
#include <set>
#include <vector>

#include "core/time.h"
#include "dataplane/rdma/connected/receive_side.h"
#include "tests/dataplane/rdma/connected/rc_rank.h"

namespace tributary::dataplane {

class Device {
 public:
  static constexpr std::uint32_t kMtu = 256;
  static constexpr std::uint32_t kBegin = 0xFFFFFFFF;
  using Values = std::vector<std::int32_t>;

  Device(const RcRank& rank, std::uint32_t ops)
      : rank_(rank),
        ops_(ops),
        unreliable_(rank.transport == 1),
        may_(!unreliable_),
        ring_(std::size_t{2} * rank.grant.ops * rank.request.op_bytes),
        next_psn_(rank.request_psn),
        oldest_(rank.request_psn),
        cursor_(rank.request_psn),
        expected_(RcRank::kPsn) {}

  static std::int32_t mine(std::uint32_t op, std::uint32_t i) {
    return static_cast<std::int32_t>(op * 1000 + i);
  }
  static std::int32_t others(std::uint32_t op, std::uint32_t i) {
    return static_cast<std::int32_t>(op * 7 + i * 3);
  }

  [[nodiscard]] std::uint32_t done() const { return done_; }
  [[nodiscard]] bool is_complete() const { return done_ == ops_; }
  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] std::uint32_t wrong() const { return wrong_; }
  // The next immediate value finds no receive.
  void lack_receive() { lacks_receive_ = true; }

  // What it sends now.
  std::vector<Bytes> poll(Instant now) {
    while (may_ && begun_ < ops_ && begun_ - done_ < rank_.grant.ops) begin_op();
    std::vector<Bytes> out = std::move(answers_);
    answers_.clear();
    if (unreliable_) {
      for (auto& [psn, frame] : requests_) out.push_back(std::move(frame));
      requests_.clear();
      return out;
    }
    if (now < waits_until_) return out;
    if (oldest_ != cursor_ && now >= deadline_) cursor_ = oldest_;
    while (cursor_ != next_psn_ && psn_diff(cursor_, oldest_) < kMostOnTheWay) {
      if (cursor_ == oldest_) deadline_ = now + kTimeout;
      out.push_back(requests_.at(cursor_));
      cursor_ = psn_after(cursor_);
    }
    return out;
  }

  void take(const Bytes& frame, Instant now) {
    const auto view = read_rc(frame);
    if (!view) return;
    if (view->shape.aeth) return on_answer(*view, now);
    unreliable_ ? execute(*view) : respond(*view);
  }

 private:
  static constexpr std::int32_t kMostOnTheWay = 8;
  static constexpr Duration kTimeout = Duration::ms(20);
  [[nodiscard]] std::uint32_t chunks() const {
    return (rank_.request.op_bytes + rank_.grant.chunk_bytes - 1) / rank_.grant.chunk_bytes;
  }

  void begin_op() {
    using enum wire::RoceOperation;
    const std::uint32_t bytes = rank_.request.op_bytes;
    const std::uint64_t place = std::uint64_t{begun_ % rank_.grant.ops} * bytes;
    Values data(bytes / 4);
    for (std::uint32_t i = 0; i < data.size(); ++i) data[i] = mine(begun_, i);
    const auto all = std::as_bytes(std::span(data));
    for (std::uint32_t at = 0; at < bytes; at += kMtu) {
      const std::uint32_t size = std::min(kMtu, bytes - at);
      const bool last = at + size == bytes;
      const auto operation =
          at == 0 ? (last ? write_only : write_first) : (last ? write_last : write_middle);
      requests_[next_psn_] = rank_.part(operation, next_psn_, place, bytes, all.subspan(at, size));
      next_psn_ = psn_after(next_psn_);
    }
    ++begun_;
  }

  void on_answer(const wire::RoceView& view, Instant now) {
    const std::uint32_t psn = view.bth.psn;
    const int kind = view.aeth.syndrome & 0xE0;
    if (psn_diff(psn, oldest_) < 0 || psn_diff(psn, next_psn_) >= 0) return;
    const std::uint32_t held = kind == 0 ? psn_after(psn) : psn;
    for (; psn_diff(held, oldest_) > 0; oldest_ = psn_after(oldest_)) requests_.erase(oldest_);
    if (psn_diff(cursor_, oldest_) < 0) cursor_ = oldest_;
    deadline_ = now + kTimeout;
    if (kind == 0) return;
    cursor_ = psn;
    if (kind == 0x20)
      waits_until_ = now + Duration::ms(1);
    else if (view.aeth.syndrome != 0x60)
      failed_ = true;
  }

  void respond(const wire::RoceView& view) {
    const std::int32_t ahead = psn_diff(view.bth.psn, expected_);
    const auto before = [&] { return psn_after(expected_, wire::kMaxQpn); };
    if (ahead < 0) return answers_.push_back(rank_.answer(0x1F, before()));
    if (ahead > 0) {
      if (!asked_) answers_.push_back(rank_.answer(0x60, expected_));
      asked_ = true;
      return;
    }
    if (view.shape.immediate && std::exchange(lacks_receive_, false))
      return answers_.push_back(rank_.answer(0x20 | 14, expected_));
    asked_ = false;
    expected_ = psn_after(expected_);
    execute(view);
    if (view.bth.acknowledge) answers_.push_back(rank_.answer(0x1F, before()));
  }

  void execute(const wire::RoceView& view) {
    if (!view.payload.empty()) {
      const std::uint64_t at = view.reth.address - RcRank::kRing;
      const bool fits = at + view.payload.size() <= ring_.size() &&
                        view.reth.length == view.payload.size() &&
                        view.reth.rkey == RcRank::kRingKey;
      if (!fits) {
        ++wrong_;
        return;
      }
      std::copy(view.payload.begin(), view.payload.end(),
                ring_.begin() + static_cast<std::ptrdiff_t>(at));
    }
    if (!view.shape.immediate) return;
    may_ = true;
    if (unreliable_)
      notice(view.immediate);
    else
      finish(view.immediate);
  }

  // UC: a chunk's place in the ring.
  void notice(std::uint32_t place) {
    if (place == kBegin) return;
    const std::uint32_t slots = 2 * rank_.grant.ops;
    const std::uint32_t slot = place / chunks();
    const std::uint32_t op = done_ + (slot + slots - done_ % slots) % slots;
    if (op >= begun_ || !seen_[op].insert(place % chunks()).second) return;
    if (seen_[op].size() == chunks()) finish(op);
  }

  void finish(std::uint32_t op) {
    const std::uint32_t bytes = rank_.request.op_bytes;
    Values sum(bytes / 4);
    std::memcpy(sum.data(), ring_.data() + std::size_t{op % (2 * rank_.grant.ops)} * bytes, bytes);
    for (std::uint32_t i = 0; i < sum.size(); ++i)
      if (sum[i] != mine(op, i) + others(op, i)) {
        ++wrong_;
        break;
      }
    if (op < done_ || op >= begun_ || !finished_.insert(op).second) ++wrong_;
    while (finished_.contains(done_)) ++done_;
  }

  const RcRank& rank_;
  std::uint32_t ops_;
  bool unreliable_;
  bool may_;
  Bytes ring_;
  std::uint32_t begun_ = 0;
  std::uint32_t done_ = 0;
  std::uint32_t wrong_ = 0;
  bool failed_ = false;
  std::set<std::uint32_t> finished_;
  std::map<std::uint32_t, std::set<std::uint32_t>> seen_;  // chunks of an op
  // The requester.
  std::map<std::uint32_t, Bytes> requests_;  // by PSN
  std::uint32_t next_psn_;
  std::uint32_t oldest_;
  std::uint32_t cursor_;
  Instant deadline_;
  Instant waits_until_;
  // The responder.
  std::uint32_t expected_;
  bool asked_ = false;
  bool lacks_receive_ = false;
  std::vector<Bytes> answers_;
};

}  // namespace tributary::dataplane
