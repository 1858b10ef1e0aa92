// The requester of a connected queue pair (IBA volume 1, 9.7.2, and 9.8.2 of UC): results that go
// to a rank as WRITEs of one packet each, in the order of their packet sequence numbers (PSN).
//
//        oldest            cursor              next
//   ───────┬─────────────────┬───────────────────┬──▶ PSN
//          │ on their way     │ to be sent         │
//
// It holds which chunk a PSN is, not the data: that is asked of the engine when a packet is sent
// again (rule 4). On RC the cursor goes back to the oldest packet after a NAK, or when no
// acknowledgement comes; on UC a packet counts as acknowledged once it is sent. Pure; all memory is
// taken at construction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/time.h"
#include "dataplane/rdma/connected/write_message.h"

namespace tributary::dataplane {

class SendSide {
 public:
  struct Entry {
    std::uint64_t n = 0;  // the chunk; of no use in an empty one
    bool empty = false;   // a WRITE without data: does the rank live?
    bool immediate = false;
  };
  struct Order {
    std::uint32_t psn = 0;
    Entry entry;
    bool ask = false;    // for an acknowledgement
    bool again = false;  // it was sent before
  };
  static constexpr std::uint32_t kMostOnTheWay = 64;
  static constexpr Duration kFirstTimeout = Duration::ms(50);
  static constexpr Duration kLastTimeout = Duration::ms(800);

  // `window`: the job's, a power of two; the list has room for twice as many results.
  explicit SendSide(std::uint32_t window);
  // Heap bytes of one.
  static std::size_t table_bytes(std::uint32_t window);
  [[nodiscard]] std::size_t table_bytes() const { return entries_.capacity() * sizeof(Entry); }
  void start(std::uint32_t psn);

  // False: the list is full.
  bool append(const Entry& entry);
  // The next one to be sent now.
  [[nodiscard]] std::optional<Order> due() const;
  // It has been sent.
  void note_sent(Instant now);

  // All up to this PSN have arrived. Calls arrived(entry) for each; false: none is new.
  template <typename Arrived>
  bool acknowledge(std::uint32_t psn, Instant now, Arrived&& arrived) {
    if (psn_diff(psn, oldest_) < 0 || psn_diff(psn, cursor_) >= 0) return false;
    for (; psn_diff(psn, oldest_) >= 0; oldest_ = psn_after(oldest_)) arrived(at(oldest_));
    timeout_ = kFirstTimeout;
    deadline_ = oldest_ == cursor_ ? Instant::max() : now + timeout_;
    return true;
  }
  // The rank lacks this one, and has all before it. `wait`: it is not ready before.
  void go_back(std::uint32_t psn, Duration wait, Instant now);
  // True if the time for an acknowledgement was over: sends again from the oldest one on.
  bool expire(Instant now);

  [[nodiscard]] std::uint32_t oldest() const { return oldest_; }
  [[nodiscard]] bool is_idle() const { return oldest_ == next_; }
  [[nodiscard]] bool is_on_the_way(std::uint32_t psn) const {
    return psn_diff(psn, oldest_) >= 0 && psn_diff(psn, cursor_) < 0;
  }

 private:
  [[nodiscard]] const Entry& at(std::uint32_t psn) const { return entries_[psn & mask_]; }

  std::vector<Entry> entries_;  // by PSN
  std::uint32_t mask_;
  std::uint32_t ask_every_;
  std::uint32_t oldest_ = 0;
  std::uint32_t cursor_ = 0;
  std::uint32_t unsent_ = 0;  // the first that was never sent
  std::uint32_t next_ = 0;
  Duration timeout_ = kFirstTimeout;
  Instant deadline_ = Instant::max();  // of an acknowledgement
  Instant waits_until_;
  bool waits_ = false;  // a rank that is not ready is spared until then
};

// The time of an RNR NAK's timer field, IBA table 45.
Duration rnr_time(std::uint8_t code);

}  // namespace tributary::dataplane
