// The slots that the dynamic jobs of a shard share (O7): their owners, and which job may take more.
//
// A chunk's slot is fixed by hash(job, seed) + seq, so a job does not collide with itself while its
// window fits the pool; it collides with other jobs. (It may while its seed changes, and where seqs
// wrap in a pool whose size is no power of two; that chunk is escalated like any other.) Each
// running job is guaranteed an equal share of the pool, or its quota if that is less. Beyond that
// it may borrow slots that no other running job's guarantee needs, and returns one where it blocks
// a job that is below its guarantee. So a greedy job cannot starve another.
#pragma once

#include <cstdint>
#include <vector>

#include "aggregator/chunk/chunk_entry.h"
#include "config/plan/engine_tables.h"
#include "core/time.h"

namespace tributary::aggregator {

class SlotPool {
 public:
  struct Owner {
    std::uint32_t job = kNone;  // place in the configuration; kNone: the slot is free
    std::uint32_t seq = 0;
    Instant touched;  // last contribution
  };
  static_assert(sizeof(Owner) == config::kPoolSlotBytes);

  // For `slots` slots and the jobs of a configuration; quota 0: the job takes no part.
  SlotPool(std::uint32_t slots, std::vector<std::uint32_t> quotas);

  // The place has another job from now on, which does not run yet.
  void set_quota(std::uint32_t job, std::uint32_t quota) { shares_[job].quota = quota; }
  void start(std::uint32_t job);  // the job runs: its guarantee counts
  void stop(std::uint32_t job);   // returns all its slots

  [[nodiscard]] std::uint32_t slot_of(std::uint32_t job, std::uint8_t seed,
                                      std::uint32_t seq) const;
  [[nodiscard]] const Owner& owner(std::uint32_t slot) const { return owners_[slot]; }
  // True if one more slot stays within the job's share, whichever slot it is.
  [[nodiscard]] bool may_take(std::uint32_t job) const;
  // True if the job holds less than its guarantee; the next function: if it holds more.
  [[nodiscard]] bool is_owed(std::uint32_t job) const { return unfilled(shares_[job]) > 0; }
  [[nodiscard]] bool borrows(std::uint32_t job) const {
    return shares_[job].held > shares_[job].guaranteed;
  }
  // Returns false, and changes nothing, if, by a defect, the slot is not free.
  [[nodiscard]] bool take(std::uint32_t slot, std::uint32_t job, std::uint32_t seq, Instant now);
  void touch(std::uint32_t slot, Instant now) { owners_[slot].touched = now; }
  // Returns false, and changes nothing, if, by a defect, `job` is not the slot's owner.
  [[nodiscard]] bool give(std::uint32_t slot, std::uint32_t job);

  // True if so few slots are free that jobs collide (rule 15). A single job never collides.
  [[nodiscard]] bool scarce() const { return free_ < slots() / kScarce && running_ > 1; }
  // True if slots are scarce, and a smaller window of this job would leave more to the others.
  [[nodiscard]] bool crowded_by(std::uint32_t job) const { return scarce() && held(job) > 0; }

  [[nodiscard]] std::uint32_t slots() const { return static_cast<std::uint32_t>(owners_.size()); }
  [[nodiscard]] std::uint32_t free() const { return free_; }
  [[nodiscard]] std::uint32_t held(std::uint32_t job) const { return shares_[job].held; }
  [[nodiscard]] std::size_t table_bytes() const {
    return owners_.size() * sizeof(Owner) + shares_.size() * sizeof(Share);
  }

 private:
  static constexpr std::uint32_t kScarce = 8;  // fewer than one in so many

  struct Share {
    std::uint32_t quota = 0;
    std::uint32_t guaranteed = 0;
    std::uint32_t held = 0;
    bool running = false;
  };
  static_assert(sizeof(Share) == config::kPoolShareBytes);
  void share_out();
  [[nodiscard]] static std::uint32_t unfilled(const Share& s) {
    return s.running && s.held < s.guaranteed ? s.guaranteed - s.held : 0;
  }

  std::vector<Owner> owners_;
  std::vector<Share> shares_;  // by place
  std::uint32_t free_;
  std::uint32_t running_ = 0;   // jobs
  std::uint32_t unfilled_ = 0;  // slots that guarantees still need
};

}  // namespace tributary::aggregator
