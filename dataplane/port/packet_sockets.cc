#include "dataplane/port/packet_sockets.h"

#include <dlfcn.h>
#include <linux/if_packet.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>

namespace tributary::dataplane {
namespace {

using SetOption = int (*)(int, int, int, const void*, socklen_t);
using Poll = int (*)(pollfd*, nfds_t, int);

// The C library's, or a sanitizer's.
SetOption next_setsockopt() {
  static const auto next = reinterpret_cast<SetOption>(dlsym(RTLD_NEXT, "setsockopt"));
  return next;
}
Poll next_poll() {
  static const auto next = reinterpret_cast<Poll>(dlsym(RTLD_NEXT, "poll"));
  return next;
}

thread_local PacketSockets::Collecting* t_collecting = nullptr;

// Descriptors of devices' packet sockets. Set by the thread that opens or closes a port; packet
// loops read those of ports that are open.
constexpr std::size_t kMostDescriptors = 65536;
std::array<std::atomic<bool>, kMostDescriptors> g_of_ports{};

std::atomic<bool>* mark_of_socket(int descriptor) {
  const auto at = static_cast<std::size_t>(descriptor);
  return descriptor >= 0 && at < kMostDescriptors ? &g_of_ports[at] : nullptr;
}

// type | flags << 8, the upper half of the option's value.
constexpr int kGroup = PACKET_FANOUT_HASH | PACKET_FANOUT_FLAG_ROLLOVER;

}  // namespace

struct SocketCalls {
  static int join_group(PacketSockets::Collecting& device, int socket) {
    device.into_.sockets_.push_back(socket);
    if (auto* const mark = mark_of_socket(socket)) mark->store(true, std::memory_order_relaxed);
    if (device.queues_ < 2) return 0;
    int value = device.group_ >= 0 ? device.group_ : (kGroup | PACKET_FANOUT_FLAG_UNIQUEID) << 16;
    if (next_setsockopt()(socket, SOL_PACKET, PACKET_FANOUT, &value, sizeof value) != 0) return -1;
    socklen_t length = sizeof device.group_;
    return device.group_ >= 0
               ? 0
               : getsockopt(socket, SOL_PACKET, PACKET_FANOUT, &device.group_, &length);
  }

  static int set(PacketSockets::Collecting& device, int socket, int option, const void* value,
                 socklen_t length) {
    const int result = option == PACKET_FANOUT
                           ? join_group(device, socket)
                           : next_setsockopt()(socket, SOL_PACKET, option, value, length);
    if (result == 0) return 0;
    const int error = errno;
    device.refused_ = std::string(name_of(option)) + ": " + std::strerror(error);
    errno = error;
    return result;
  }

  static const char* name_of(int option) {
    switch (option) {
      case PACKET_FANOUT: return "PACKET_FANOUT";
      case PACKET_RX_RING: return "PACKET_RX_RING";
      case PACKET_TX_RING: return "PACKET_TX_RING";
      case PACKET_QDISC_BYPASS: return "PACKET_QDISC_BYPASS";
      default: return "an option of a packet socket";
    }
  }
};

PacketSockets::Collecting::Collecting(PacketSockets& into, std::size_t queues)
    : into_(into), queues_(queues) {
  t_collecting = this;
}

PacketSockets::Collecting::~Collecting() {
  t_collecting = nullptr;
}

std::uint64_t PacketSockets::lost() {
  for (const int socket : sockets_) {
    tpacket_stats since{};  // the last look: the kernel begins anew with each
    socklen_t length = sizeof since;
    if (getsockopt(socket, SOL_PACKET, PACKET_STATISTICS, &since, &length) == 0)
      lost_ += since.tp_drops;
  }
  return lost_;
}

void PacketSockets::release() {
  for (const int socket : sockets_)
    if (auto* const mark = mark_of_socket(socket)) mark->store(false, std::memory_order_relaxed);
  sockets_.clear();
}

void correct_packet_sockets() {
  next_setsockopt();
  next_poll();
}

}  // namespace tributary::dataplane

extern "C" int setsockopt(int socket, int level, int option, const void* value,
                          socklen_t length) noexcept {
  using namespace tributary::dataplane;
  if (level == SOL_PACKET && t_collecting != nullptr)
    return SocketCalls::set(*t_collecting, socket, option, value, length);
  return next_setsockopt()(socket, level, option, value, length);
}

// Under another name here: the C library's declaration says that it reads nothing.
extern "C" int poll_without_end(pollfd* descriptors, nfds_t count, int timeout) __asm__("poll");
extern "C" int poll_without_end(pollfd* descriptors, nfds_t count, int timeout) {
  using namespace tributary::dataplane;
  if (count == 1 && timeout < 0 && descriptors->events == POLLOUT) {
    const auto* const mark = mark_of_socket(descriptors->fd);
    if (mark != nullptr && mark->load(std::memory_order_relaxed)) timeout = 0;
  }
  return next_poll()(descriptors, count, timeout);
}
