// The peer of a vhost-user port, and how to be rid of it, which DPDK has no call for.
//
//   connected ──mark_lost()──▶ lost ──disconnect()──▶ its socket has ended ──▶ gone()
//                                                          DPDK's own thread notices, and unmaps
//
// Another may be there as soon as this one is gone.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace tributary::dataplane {

class VhostPeer {
 public:
  // `ethdev`: no client has connected to it yet. `socket`: its path, as the device was told.
  VhostPeer(std::uint16_t ethdev, std::string socket);
  ~VhostPeer();  // before the device is closed
  VhostPeer(const VhostPeer&) = delete;
  VhostPeer& operator=(const VhostPeer&) = delete;

  // Any loop, after the burst: this peer is of no use any more.
  void mark_lost() { lost_.store(departures_.load()); }
  // The link has been down since, if only for a moment.
  [[nodiscard]] bool gone() const { return lost_.load() != departures_.load(); }
  // Shuts down all connections to that socket; the driver notices later. Control threads.
  void disconnect() const;

 private:
  struct Callback;  // DPDK's

  std::uint16_t ethdev_;
  std::string socket_;
  std::atomic<std::uint32_t> departures_{0};  // written by DPDK's thread
  std::atomic<std::uint32_t> lost_{0};
};

}  // namespace tributary::dataplane
