#include "tools/telemetryd/receiver.h"

#include <arpa/inet.h>
#include <linux/sock_diag.h>
#include <net/if.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <vector>

namespace tributary::telemetryd {
namespace {

constexpr std::size_t kBatch = 64;
constexpr std::size_t kDatagramBytes = 9216;
constexpr int kSocketBytes = 16 << 20;
constexpr suseconds_t kTurnUs = 100'000;  // the thread looks so often whether it is to end

template <typename T>
bool parse_number(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

[[noreturn]] void fail(const char* what) {
  throw std::runtime_error(std::string("--listen: ") + what + ": " +
                           std::generic_category().message(errno));
}

// Control messages of a datagram: the interface that it came in through.
struct alignas(cmsghdr) ControlRoom {
  std::array<std::byte, CMSG_SPACE(sizeof(in_pktinfo))> bytes{};
};

// Buffers of one recvmmsg().
struct Batch {
  Batch() {
    for (std::size_t i = 0; i < kBatch; ++i) {
      parts[i] = {bytes[i].data(), bytes[i].size()};
      messages[i].msg_hdr = {};
      messages[i].msg_hdr.msg_name = &from[i];
      messages[i].msg_hdr.msg_iov = &parts[i];
      messages[i].msg_hdr.msg_iovlen = 1;
      messages[i].msg_hdr.msg_control = &controls[i];
      reset(i);
    }
  }
  // Undoes what a receive has written into the message's header.
  void reset(std::size_t i) {
    messages[i].msg_hdr.msg_namelen = sizeof from[i];
    messages[i].msg_hdr.msg_controllen = sizeof controls[i];
  }
  // Index of the ingress interface; 0: not known.
  unsigned interface_of(std::size_t i) {
    msghdr* const header = &messages[i].msg_hdr;
    const cmsghdr* const control = CMSG_FIRSTHDR(header);
    if (control == nullptr || control->cmsg_level != IPPROTO_IP || control->cmsg_type != IP_PKTINFO)
      return 0;
    in_pktinfo information{};
    std::memcpy(&information, CMSG_DATA(control), sizeof information);
    return static_cast<unsigned>(information.ipi_ifindex);
  }
  std::array<std::array<std::byte, kDatagramBytes>, kBatch> bytes;
  std::array<ControlRoom, kBatch> controls;
  std::array<sockaddr_in, kBatch> from{};
  std::array<iovec, kBatch> parts{};
  std::array<mmsghdr, kBatch> messages{};
};

std::uint64_t overruns_of(int socket) {
  std::array<std::uint32_t, SK_MEMINFO_VARS> info{};
  socklen_t length = sizeof info;
  if (getsockopt(socket, SOL_SOCKET, SO_MEMINFO, info.data(), &length) != 0) return 0;
  return info[SK_MEMINFO_DROPS];
}

// Names of interfaces by index, as they were at most kAge ago: an index may get another name.
class InterfaceNames {
 public:
  std::string_view of(unsigned index, Instant now) {
    if (now - asked_ > kAge) names_.clear();
    if (names_.empty()) asked_ = now;
    const auto [place, is_new] = names_.try_emplace(index);
    std::array<char, IF_NAMESIZE> name{};
    if (is_new && index != 0 && if_indextoname(index, name.data()) != nullptr)
      place->second = name.data();
    return place->second;
  }

 private:
  static constexpr Duration kAge = Duration::seconds(1);
  std::map<unsigned, std::string> names_;
  Instant asked_;
};

std::uint64_t unix_ns() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

}  // namespace

sockaddr_in parse_endpoint(const std::string& option, const std::string& text) {
  const std::size_t colon = text.rfind(':');
  sockaddr_in address{};
  address.sin_family = AF_INET;
  std::uint16_t port = 0;
  if (colon == std::string::npos || !parse_number(std::string_view(text).substr(colon + 1), port) ||
      inet_pton(AF_INET, text.substr(0, colon).c_str(), &address.sin_addr) != 1)
    throw std::invalid_argument(option + ": '" + text +
                                "'; allowed: IPV4:PORT, such as 127.0.0.1:32766");
  address.sin_port = htons(port);
  return address;
}

void register_switch(Registered& switches, const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::size_t percent = std::min(text.find('%'), text.size());
  const std::string interface = text.substr(std::min(percent + 1, text.size()));
  std::uint32_t node = 0;
  in_addr address{};
  if (equals == std::string::npos || percent < equals ||
      !parse_number(std::string_view(text).substr(0, equals), node) ||
      inet_pton(AF_INET, text.substr(equals + 1, percent - equals - 1).c_str(), &address) != 1 ||
      interface.size() >= IF_NAMESIZE || (percent != text.size() && interface.empty()))
    throw std::invalid_argument("--switch: '" + text +
                                "'; allowed: NODE=IPV4, such as 7=10.0.0.7, or "
                                "NODE=IPV4%INTERFACE");
  if (!switches.emplace(node, Registration{address.s_addr, interface}).second)
    throw std::invalid_argument("--switch: node " + std::to_string(node) + " is registered twice");
}

Instant Receiver::now() {
  return Instant::from_ns(std::chrono::duration_cast<std::chrono::nanoseconds>(
                              std::chrono::steady_clock::now().time_since_epoch())
                              .count());
}

Receiver::Receiver(const ReceiverOptions& options)
    : admission_(options.switches, options.key), table_(options.limits, options.marking) {
  socket_ = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket_ < 0) fail("no socket");
  // As root beyond the system's limit.
  if (setsockopt(socket_, SOL_SOCKET, SO_RCVBUFFORCE, &kSocketBytes, sizeof kSocketBytes) != 0)
    setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &kSocketBytes, sizeof kSocketBytes);
  constexpr int kOn = 1;
  if (setsockopt(socket_, IPPROTO_IP, IP_PKTINFO, &kOn, sizeof kOn) != 0) {
    close(socket_);
    fail("interfaces of reports are not told");
  }
  const timeval turn{0, kTurnUs};
  setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &turn, sizeof turn);
  sockaddr_in bound = options.listen;
  socklen_t length = sizeof bound;
  if (bind(socket_, reinterpret_cast<const sockaddr*>(&bound), length) != 0 ||
      getsockname(socket_, reinterpret_cast<sockaddr*>(&bound), &length) != 0) {
    const int error = errno;
    close(socket_);
    errno = error;
    fail("cannot bind");
  }
  port_ = ntohs(bound.sin_port);
  thread_ = std::thread([this] { receive(); });
}

Receiver::~Receiver() {
  stopping_ = true;
  thread_.join();
  close(socket_);
}

void Receiver::receive() {
  const auto batch = std::make_unique<Batch>();
  InterfaceNames names;
  while (!stopping_) {
    const int count = recvmmsg(socket_, batch->messages.data(), kBatch, MSG_WAITFORONE, nullptr);
    ++turns_;
    const Instant at = now();
    const std::uint64_t time = unix_ns();
    const std::lock_guard lock(mutex_);
    for (int i = 0; i < count; ++i) {
      const auto place = static_cast<std::size_t>(i);
      const auto datagram = std::span(batch->bytes[place]).first(batch->messages[place].msg_len);
      ++counters_.datagrams;
      Origin origin{batch->from[place].sin_addr.s_addr, {}, time};
      if (admission_.needs_interfaces())
        origin.interface = names.of(batch->interface_of(place), at);
      const Judged judged = admission_.judge(datagram, origin);
      if (judged.reports.empty())
        ++counters_.refused[static_cast<std::size_t>(judged.refusal)];
      else
        table_.take(judged.reports, at);
      batch->reset(place);
    }
  }
}

void Receiver::with_table(const std::function<void(const telemetry::RecordTable&,
                                                   const ReceiverCounters&, Instant)>& look) const {
  const std::lock_guard lock(mutex_);
  ReceiverCounters counters = counters_;
  counters.overrun = overruns_of(socket_);
  look(table_, counters, now());
}

}  // namespace tributary::telemetryd
