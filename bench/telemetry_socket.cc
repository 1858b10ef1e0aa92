#include "bench/telemetry_socket.h"

#include <arpa/inet.h>
#include <netinet/udp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

namespace tributary::bench {
namespace {

constexpr std::size_t kBatch = 64;
constexpr std::size_t kDatagramBytes = 9216;
constexpr int kSocketBytes = 16 << 20;
constexpr std::size_t kMostSegments = 32;  // that one system call sends

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::exit(2);
}

int checked(int result, const char* what) {
  if (result < 0) fail(what);
  return result;
}

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// To the CPUs that the pinned parent has left.
void leave_the_parents_cpu() {
  cpu_set_t taken;
  sched_getaffinity(0, sizeof taken, &taken);
  cpu_set_t others;
  CPU_ZERO(&others);
  for (long cpu = 0; cpu < sysconf(_SC_NPROCESSORS_CONF) && cpu < CPU_SETSIZE; ++cpu)
    if (!CPU_ISSET(static_cast<std::size_t>(cpu), &taken))
      CPU_SET(static_cast<std::size_t>(cpu), &others);
  sched_setaffinity(0, sizeof others, &others);
}

int socket_to(int port, std::size_t segment_bytes) {
  const int out = checked(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), "socket");
  const sockaddr_in to = loopback(port);
  checked(connect(out, reinterpret_cast<const sockaddr*>(&to), sizeof to), "connect");
  const int bytes = static_cast<int>(segment_bytes);
  checked(setsockopt(out, SOL_UDP, UDP_SEGMENT, &bytes, sizeof bytes), "UDP_SEGMENT");
  return out;
}

// Buffers of one recvmmsg(), as many and as large as the telemetry server's.
struct Batch {
  Batch() {
    for (std::size_t i = 0; i < kBatch; ++i) {
      parts[i] = {bytes[i].data(), bytes[i].size()};
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

}  // namespace

ReportFlood::ReportFlood(RecordedReports reports) {
  void* const memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail("mmap");
  shared_ = new (memory) Shared;
  process_ = checked(fork(), "fork");
  if (process_ == 0) run(std::move(reports), *shared_);
}

ReportFlood::~ReportFlood() {
  shared_->port = -1;
  waitpid(process_, nullptr, 0);
  munmap(shared_, sizeof(Shared));
}

void ReportFlood::end() {
  shared_->port = 0;
  while (!shared_->silent) usleep(100);
}

void ReportFlood::run(RecordedReports reports, Shared& shared) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  leave_the_parents_cpu();
  const std::size_t segments =
      std::min(kMostSegments, std::size_t{60'000} / reports.datagram_bytes());
  int port = 0;
  for (std::size_t next = 0; (port = shared.port) >= 0; next = 0) {
    if (port == 0) {
      shared.silent = true;
      usleep(100);
      continue;
    }
    shared.silent = false;
    const int out = socket_to(port, reports.datagram_bytes());
    while (shared.port == port) {
      const std::size_t count = std::min(segments, reports.datagrams() - next);
      const auto bytes = reports.numbered(next, count);
      // A receiver that has just gone is an error of the call after the next.
      static_cast<void>(send(out, bytes.data(), bytes.size(), MSG_NOSIGNAL));
      next = (next + count) % reports.datagrams();
    }
    close(out);
  }
  _exit(0);
}

BareSink::BareSink() : socket_(checked(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), "socket")) {
  if (setsockopt(socket_, SOL_SOCKET, SO_RCVBUFFORCE, &kSocketBytes, sizeof kSocketBytes) != 0)
    setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &kSocketBytes, sizeof kSocketBytes);
  const timeval turn{0, 100'000};
  setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &turn, sizeof turn);
  sockaddr_in bound = loopback(0);
  socklen_t length = sizeof bound;
  checked(bind(socket_, reinterpret_cast<const sockaddr*>(&bound), length), "bind");
  checked(getsockname(socket_, reinterpret_cast<sockaddr*>(&bound), &length), "getsockname");
  port_ = ntohs(bound.sin_port);
  thread_ = std::thread([this] { receive(); });
}

BareSink::~BareSink() {
  stopping_ = true;
  thread_.join();
  close(socket_);
}

void BareSink::receive() {
  const auto batch = std::make_unique<Batch>();
  while (!stopping_) {
    const int count = recvmmsg(socket_, batch->messages.data(), kBatch, MSG_WAITFORONE, nullptr);
    if (count > 0) datagrams_ += static_cast<std::uint64_t>(count);
  }
}

}  // namespace tributary::bench
