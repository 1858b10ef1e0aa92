#include "tools/telemetryd/receiver.h"

#include <arpa/inet.h>
#include <linux/sock_diag.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <stdexcept>
#include <system_error>

#include "telemetry/wire/bytes.h"

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

// Buffers of one recvmmsg().
struct Batch {
  Batch() {
    for (std::size_t i = 0; i < kBatch; ++i) {
      parts[i] = {bytes[i].data(), bytes[i].size()};
      messages[i].msg_hdr = {};
      messages[i].msg_hdr.msg_name = &from[i];
      messages[i].msg_hdr.msg_namelen = sizeof from[i];
      messages[i].msg_hdr.msg_iov = &parts[i];
      messages[i].msg_hdr.msg_iovlen = 1;
    }
  }
  std::array<std::array<std::byte, kDatagramBytes>, kBatch> bytes;
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
  std::uint32_t node = 0;
  in_addr address{};
  if (equals == std::string::npos ||
      !parse_number(std::string_view(text).substr(0, equals), node) ||
      inet_pton(AF_INET, text.substr(equals + 1).c_str(), &address) != 1)
    throw std::invalid_argument("--switch: '" + text + "'; allowed: NODE=IPV4, such as 7=10.0.0.7");
  if (!switches.emplace(node, address.s_addr).second)
    throw std::invalid_argument("--switch: node " + std::to_string(node) + " is registered twice");
}

Instant Receiver::now() {
  return Instant::from_ns(std::chrono::duration_cast<std::chrono::nanoseconds>(
                              std::chrono::steady_clock::now().time_since_epoch())
                              .count());
}

Receiver::Receiver(const ReceiverOptions& options)
    : switches_(options.switches), table_(options.limits, options.marking) {
  socket_ = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket_ < 0) fail("no socket");
  // As root beyond the system's limit.
  if (setsockopt(socket_, SOL_SOCKET, SO_RCVBUFFORCE, &kSocketBytes, sizeof kSocketBytes) != 0)
    setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &kSocketBytes, sizeof kSocketBytes);
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

bool Receiver::is_registered(std::span<const std::byte> datagram, const sockaddr_in& from) const {
  if (datagram.size() < telemetry::kGroupBytes) return false;
  const auto found = switches_.find(telemetry::load<std::uint32_t>(datagram, 4));
  return found != switches_.end() && found->second == from.sin_addr.s_addr;
}

void Receiver::receive() {
  const auto batch = std::make_unique<Batch>();
  while (!stopping_) {
    const int count = recvmmsg(socket_, batch->messages.data(), kBatch, MSG_WAITFORONE, nullptr);
    ++turns_;
    const Instant at = now();
    const std::lock_guard lock(mutex_);
    counters_.overrun = overruns_of(socket_);
    for (int i = 0; i < count; ++i) {
      const auto place = static_cast<std::size_t>(i);
      const auto datagram = std::span(batch->bytes[place]).first(batch->messages[place].msg_len);
      ++counters_.datagrams;
      if (is_registered(datagram, batch->from[place]))
        table_.take(datagram, at);
      else
        ++counters_.unregistered;
      batch->messages[place].msg_hdr.msg_namelen = sizeof(sockaddr_in);
    }
  }
}

void Receiver::with_table(const std::function<void(const telemetry::RecordTable&,
                                                   const ReceiverCounters&, Instant)>& look) const {
  const std::lock_guard lock(mutex_);
  look(table_, counters_, now());
}

}  // namespace tributary::telemetryd
