// Datagrams that come through one port, put together from their fragments.
//
//   fragment ─▶ table (fragment_table.h) ─▶ its bytes into the datagram's one buffer
//                                             └ the last one: that buffer, a frame
//
// A fragment's own buffer is free at once, so a datagram holds one however many fragments it has.
// The owner of the port's frames owns this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "config/model/switch_config.h"
#include "core/net/fragment.h"
#include "dataplane/frame/fragment_table.h"

struct rte_mbuf;
struct rte_mempool;

namespace tributary::dataplane {

// The key that all fragments of a datagram share.
DatagramKey key_of(const wire::EthernetView& frame, const wire::Fragment4View& fragment);

class Datagrams {
 public:
  // Frames of at most `frame_bytes`, which buffers of the pool hold; all other memory is taken
  // here. Datagrams that are given up are counted in the `drops` of each call.
  Datagrams(const config::FragmentsConfig& limits, std::size_t frame_bytes, std::uint64_t seed,
            rte_mempool* pool);
  ~Datagrams();
  Datagrams(const Datagrams&) = delete;
  Datagrams& operator=(const Datagrams&) = delete;

  struct Outcome {
    // none: the fragment's frame was taken over. Else it is of no use, and the caller's.
    DropReason reason = DropReason::none;
    rte_mbuf* whole = nullptr;  // it was the last one; the caller's
  };
  // The frame is linear and holds the fragment.
  Outcome add(rte_mbuf* frame, const wire::EthernetView& view, const wire::Fragment4View& fragment,
              Instant now, DropCounters& drops);
  // Gives up what is too old, at most so many; returns how many datagrams.
  std::size_t expire(Instant now, std::size_t most, DropCounters& drops);
  // Gives up all.
  void discard(DropCounters& drops);

 private:
  struct Datagram {
    rte_mbuf* frame = nullptr;
    bool congestion = false;
  };

  void give_up(const FragmentTable::GivenUp& given_up, DropReason reason, DropCounters& drops);
  // The datagram's buffer as a frame: `headers` in front of IPv4's, `payload` behind that.
  static rte_mbuf* finish(Datagram& datagram, std::size_t headers, std::size_t payload);

  rte_mempool* pool_;
  FragmentTable table_;
  std::vector<Datagram> datagrams_;
};

}  // namespace tributary::dataplane
