#include "dataplane/port/kernel_interface.h"

#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace tributary::dataplane {
namespace {

ifreq request_for(const std::string& name) {
  ifreq request{};
  name.copy(request.ifr_name, IFNAMSIZ - 1);
  return request;
}

[[noreturn]] void refuse(const std::string& name, const std::string& why) {
  throw std::runtime_error("interface '" + name + "': " + why);
}

}  // namespace

std::string missing_interface(const config::Devargs& device) {
  if (device.kind->binding != config::Binding::opens) return "";
  std::string name(device.interface());
  return name.empty() || if_nametoindex(name.c_str()) != 0 ? "" : name;
}

KernelInterface::KernelInterface(std::string_view name) : name_(name) {
  if (name_.size() >= IFNAMSIZ)
    refuse(name_, "the name is longer than the " + std::to_string(IFNAMSIZ - 1) +
                      " characters that an interface's may have");
  // Hears nothing: protocol 0.
  socket_ = ::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
  if (socket_ < 0)
    refuse(name_, std::string("no packet socket: ") + std::strerror(errno) +
                      "; the process needs CAP_NET_RAW");
  ifreq request = request_for(name_);
  if (ioctl(socket_, SIOCGIFINDEX, &request) != 0) {
    const int error = errno;
    ::close(socket_);
    refuse(name_, std::string(std::strerror(error)) +
                      "; it must exist in this network namespace (ip link)");
  }
  index_ = request.ifr_ifindex;
}

KernelInterface::~KernelInterface() {
  ::close(socket_);
}

void KernelInterface::take_all_frames() {
  packet_mreq all{};
  all.mr_ifindex = index_;
  all.mr_type = PACKET_MR_PROMISC;
  if (setsockopt(socket_, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof all) != 0)
    refuse(name_, std::string("promiscuous mode is refused: ") + std::strerror(errno));
}

KernelInterface::Look KernelInterface::look() {
  ifreq request = request_for(name_);
  if (ioctl(socket_, SIOCGIFINDEX, &request) != 0) {
    was_gone_ = true;
    return {State::gone};
  }
  was_gone_ = was_gone_ || request.ifr_ifindex != index_;
  Look look;
  look.state = was_gone_ ? State::replaced : State::same;
  constexpr int kRunning = IFF_UP | IFF_RUNNING;
  look.running =
      ioctl(socket_, SIOCGIFFLAGS, &request) == 0 && (request.ifr_flags & kRunning) == kRunning;
  if (ioctl(socket_, SIOCGIFMTU, &request) == 0)
    look.mtu = static_cast<std::uint32_t>(request.ifr_mtu);
  return look;
}

}  // namespace tributary::dataplane
