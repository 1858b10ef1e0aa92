// Frames of one ring of a memif client, into packet buffers.
//
//   descriptors of some frames ──checked──▶ places in the client's memory ──copied──▶ buffers
//                                               └─ lent: the head alone is copied
//
// A ring that lends leaves a contribution of one piece where it is (lent_frame.h), if the caller
// can read it there (`in_place`): its buffer has the right length, and in it the first
// kLentHeadBytes. The client may change the rest at any time, also between two reads. The frame's
// descriptor is the switch's until give_back().
//
// A frame with a wrong descriptor is dropped and counted, and costs nothing else. A head that jumps
// breaks the ring: which descriptors are the client's is unknown from then on.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/counter.h"
#include "dataplane/memif/shared_regions.h"
#include "dataplane/memif/shared_ring.h"

struct rte_mbuf;
struct rte_mempool;

namespace tributary::dataplane {

// Written by the lcore that receives.
struct MemifRxLosses {
  Counter unusable;    // frames with wrong descriptors, or longer than a packet buffer
  Counter no_buffers;  // times that the pool had too few
};

class MemifRxRing {
 public:
  // Descriptors of a frame, and those that one burst looks at.
  static constexpr std::uint16_t kMostPieces = 64;
  static constexpr std::uint16_t kMostLooks = 256;
  // The least length of a frame that is lent, so that it is worth it.
  static constexpr std::size_t kLeastLentBytes = 512;

  // `regions` outlives the ring.
  MemifRxRing(SharedRing ring, const SharedRegions& regions, bool lends = false)
      : ring_(ring), regions_(&regions), lends_(lends) {}

  // Returns how many of `frames`, at most `capacity`, have been filled. `in_place`: nullptr, or
  // room for the place of each frame in the client's memory, if it is lent, and nullptr otherwise.
  std::uint16_t receive(rte_mempool* pool, rte_mbuf** frames, std::uint16_t capacity,
                        MemifRxLosses& losses, const std::byte** in_place = nullptr);
  // Frames are lent: give_back() comes before the next receive().
  [[nodiscard]] bool has_lent() const { return lent_; }
  void give_back();
  // Any thread. The client broke the protocol: nothing is received any more.
  [[nodiscard]] bool broken() const { return broken_.load(std::memory_order_relaxed); }

 private:
  struct Piece {
    const std::byte* at;
    std::uint32_t bytes;
  };
  // Frames whose descriptors are right.
  struct Batch {
    std::uint16_t room;       // for so many frames
    std::size_t frame_bytes;  // of at most so many bytes
    std::uint16_t looks = 0;  // at descriptors from next_ on, all of them of frames that are done
    std::uint16_t frames = 0;
    std::uint16_t pieces = 0;
    std::uint16_t unusable = 0;
    std::array<Piece, kMostLooks> piece;
    std::array<std::uint16_t, kMostLooks> end;  // of each frame, in `piece`
  };
  enum class Chain : std::uint8_t { whole, unusable, unfinished };

  void fill(const Batch& batch, rte_mbuf** frames, const std::byte** in_place);
  void gather(std::uint16_t available, Batch& batch);
  Chain read_chain(std::uint16_t available, Batch& batch);
  void skip_rest(std::uint16_t available, Batch& batch);
  static void fill(rte_mbuf& frame, const Piece* from, const Piece* to);
  // Returns whether the frame is lent; else it is whole.
  static bool lend(rte_mbuf& frame, const Piece& piece);

  SharedRing ring_;
  const SharedRegions* regions_;
  bool lends_;
  bool lent_ = false;
  std::uint16_t next_ = 0;
  bool skipping_ = false;  // the rest of a chain that is too long
  std::atomic<bool> broken_{false};
};

}  // namespace tributary::dataplane
