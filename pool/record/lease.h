// Readers' leases, and memory that waits for them to end.
//
// A reader may hold an entry of a record that is gone, and may be reading it right now. Its lease
// states up to which generation it has read the table. Memory that is freed at generation g waits
// until each lease has seen g or has ended; only then is it given to another record.
//
//   free(g) ──▶ waiting ──(every live lease has seen ≥ g)──▶ reusable
//
// A reader that renews its lease and does not read the table would hold memory for ever: its lease
// ends when the memory has waited for kMostHeld lengths of a lease. Without readers, memory is
// reusable at once. Single-threaded; time is an argument.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "core/time.h"

namespace tributary::pool {

struct Extent {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  bool operator==(const Extent&) const = default;
};

class Leases {
 public:
  explicit Leases(Duration length) : length_(length) {}

  // Opens a lease for a reader that has seen nothing after `seen`. Returns its number.
  std::uint64_t open(std::uint64_t seen, Instant now);
  // Returns false if the lease does not exist any more; the reader must start anew.
  bool renew(std::uint64_t lease, std::uint64_t seen, Instant now);
  void close(std::uint64_t lease) { leases_.erase(lease); }
  // Ends leases that were not renewed in time, or have held memory too long. Returns how many.
  std::size_t expire(Instant now);
  static constexpr std::int64_t kMostHeld = 10;

  // The extent was freed in table generation `generation`, which never decreases; not reusable yet.
  void retire(const Extent& extent, std::uint64_t generation, Instant now);
  // Returns the extents that no lease protects any more.
  std::vector<Extent> reusable();

  // The generation that every reader has seen; the largest number if there is no reader.
  [[nodiscard]] std::uint64_t least_seen() const;
  [[nodiscard]] std::size_t count() const { return leases_.size(); }
  [[nodiscard]] bool has(std::uint64_t lease) const { return leases_.contains(lease); }
  [[nodiscard]] std::uint64_t waiting_bytes() const { return waiting_bytes_; }
  [[nodiscard]] Duration length() const { return length_; }

 private:
  struct Lease {
    std::uint64_t seen;
    Instant end;
  };
  struct Waiting {
    Extent extent;
    std::uint64_t generation;
    Instant since;
  };
  Duration length_;
  std::uint64_t next_ = 1;
  std::map<std::uint64_t, Lease> leases_;
  std::deque<Waiting> waiting_;  // generations ascend
  std::uint64_t waiting_bytes_ = 0;
};

}  // namespace tributary::pool
