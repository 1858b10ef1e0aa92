// One direction of a cable: serialisation, a bounded queue, propagation, and every way in which a
// network fails to deliver what was sent.
//
//   send ─▶ queue (tail drop, marks) ─▶ wire ─┬─▶ arrives ─▶ lost? corrupted? cut off? ─▶ the other
//   end
//                                             └─▶ a second copy, later
//
// A frame's fate under way is decided when it arrives, with the state the receiver is in then.
#pragma once

#include <cstdint>
#include <vector>

#include "core/prng.h"
#include "core/time.h"

namespace tributary::sim {

// Rates are parts per million of the frames.
struct LinkQuality {
  Duration delay_min = Duration::us(5);
  Duration delay_max = Duration::us(20);
  std::uint64_t bits_per_second = 0;  // 0: no serialisation time
  std::uint32_t queue_bytes = 1u << 20;
  std::uint32_t loss_ppm = 0;
  std::uint32_t duplicate_ppm = 0;
  std::uint32_t reorder_ppm = 0;                 // held back, so that others overtake it
  Duration reorder_delay_max = Duration::ms(5);  // also how much later a second copy may come
  std::uint32_t corrupt_ppm = 0;
  std::uint32_t mark_ppm = 0;  // told that they met a queue (ECN), where their sender listens
  // On a link with a rate: marks frames that find so many bytes waiting; 0: none.
  std::uint32_t mark_bytes = 0;
  // Frames of workers: leave from another source port, whose answers reach the worker all the same,
  // as through an address translator that forgets.
  std::uint32_t stray_ppm = 0;
};

// When a frame sent now arrives. `sent` is false when the queue has no room for it.
struct Transmission {
  bool sent = false;
  Instant at;
  bool reordered = false;
  bool marked = false;
  bool duplicated = false;
  Instant duplicate_at;
};

enum class Fate : std::uint8_t { delivered, lost, corrupted, cut };

class Link {
 public:
  Link(const LinkQuality& quality, Instant perfect_from, std::uint64_t seed)
      : quality_(quality), perfect_from_(perfect_from), random_(seed) {}

  Transmission transmit(std::size_t bytes, Instant now);
  Fate arrive(Instant now);
  // Positions of the bits to flip in a frame of `bytes`; at most `most`.
  std::vector<std::uint32_t> flips(std::size_t bytes, std::uint32_t most);

  // The cable is cut from `begin` to `end`. Silently: neither side notices. Otherwise both see
  // the link go down, and send nothing.
  void cut(Instant begin, Instant end, bool silently) { cuts_.push_back({begin, end, silently}); }
  // For good, until it is plugged in again; both sides see that, too.
  void plug(bool in) { plugged_in_ = in; }
  [[nodiscard]] bool plugged_in() const { return plugged_in_; }
  [[nodiscard]] bool down(Instant now) const;

 private:
  struct Cut {
    Instant begin, end;
    bool silently;
  };
  [[nodiscard]] bool cut_off(Instant now) const;
  [[nodiscard]] Duration uniform(Duration least, Duration most);
  [[nodiscard]] bool happens(std::uint32_t ppm, Instant now) {
    return ppm != 0 && random_.chance_ppm(ppm) && now < perfect_from_;
  }

  LinkQuality quality_;
  Instant perfect_from_;  // from then on nothing is lost, doubled, reordered or corrupted
  Prng random_;
  Instant busy_until_;
  Instant last_arrival_;
  std::vector<Cut> cuts_;
  bool plugged_in_ = true;
};

}  // namespace tributary::sim
