// Registrations of packet buffers with the kernel (umems) that a net_af_xdp device makes.
//
// DPDK 22.11 never ends them: its driver counts their users down, and compares with the wrong
// number. The descriptor stays open, and the interface's queue stays bound to it, so that no other
// device can open that queue. The process's calls to libxdp come through here, so that what the
// driver leaves can be ended after it.
#pragma once

#include <cstdint>
#include <vector>

struct xsk_umem;

namespace tributary::dataplane {

// The registrations of one port. Used by the thread that opens and closes it.
class XdpUmems {
 public:
  // While it exists, what this thread registers is `into`'s.
  class Collecting {
   public:
    explicit Collecting(XdpUmems& into);
    ~Collecting();
    Collecting(const Collecting&) = delete;
    Collecting& operator=(const Collecting&) = delete;
  };

  XdpUmems() = default;
  ~XdpUmems() { release(); }
  XdpUmems(const XdpUmems&) = delete;
  XdpUmems& operator=(const XdpUmems&) = delete;

  // Frames that the kernel had no room for in the sockets' rings, so far: the driver counts them
  // nowhere.
  [[nodiscard]] std::uint64_t lost() const;
  // The device is closed: ends what its driver has left.
  void release();

 private:
  friend struct UmemCalls;

  std::vector<xsk_umem*> umems_;
};

// Called once before DPDK starts; links the calls in.
void intercept_xdp_umems();

}  // namespace tributary::dataplane
