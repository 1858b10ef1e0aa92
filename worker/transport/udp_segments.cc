#include "worker/transport/udp_segments.h"

#include <netinet/udp.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace tributary::worker {
namespace {

// Older headers lack these.
#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

std::size_t bytes_of(const Datagram& d) {
  return d.head.size() + d.payload.size();
}

// Errors of a kernel that cannot cut messages on this path.
bool refuses_segments(int error) {
  return error == EIO || error == EINVAL || error == EMSGSIZE || error == EOPNOTSUPP;
}

}  // namespace

void UdpSender::probe(int socket) {
  int value = 0;
  socklen_t length = sizeof value;
  segments_ = ::getsockopt(socket, IPPROTO_UDP, UDP_SEGMENT, &value, &length) == 0;
}

bool UdpSender::joins(const Message& message, const Datagram& datagram, std::size_t bytes,
                      std::size_t most_segment_bytes) const {
  return segments_ && !message.closed && message.port == datagram.port &&
         bytes <= message.segment && message.segment <= most_segment_bytes &&
         message.bytes + bytes <= kMostMessageBytes && message.datagrams < kMostSegments;
}

// Plans messages for the first datagrams of a batch, at most a burst; returns how many messages.
std::size_t UdpSender::plan(std::span<const Datagram> batch, const sockaddr_in& to,
                            std::size_t most_segment_bytes) {
  std::size_t count = 0;
  std::size_t vectors = 0;
  iovec* const iov = iov_.front().data();
  for (const Datagram& d : batch.first(std::min(batch.size(), kBurst))) {
    const std::size_t bytes = bytes_of(d);
    if (count == 0 || !joins(messages_[count - 1], d, bytes, most_segment_bytes)) {
      if (count > 0) finish(count - 1);
      messages_[count] = {
          .datagrams = 0, .bytes = 0, .segment = bytes, .closed = false, .port = d.port};
      out_[count].msg_hdr = {};
      out_[count].msg_hdr.msg_iov = iov + vectors;
      to_[count] = to;
      to_[count].sin_port = htons(static_cast<std::uint16_t>(ntohs(to.sin_port) + d.port));
      ++count;
    }
    Message& message = messages_[count - 1];
    ++message.datagrams;
    message.bytes += bytes;
    message.closed = bytes < message.segment;
    // sendmsg only reads; iovec has no const form.
    iov[vectors++] = {const_cast<std::byte*>(d.head.data()), d.head.size()};
    if (!d.payload.empty())
      iov[vectors++] = {const_cast<std::byte*>(d.payload.data()), d.payload.size()};
    out_[count - 1].msg_hdr.msg_iovlen =
        static_cast<std::size_t>(iov + vectors - out_[count - 1].msg_hdr.msg_iov);
  }
  if (count > 0) finish(count - 1);
  return count;
}

void UdpSender::finish(std::size_t i) {
  msghdr& header = out_[i].msg_hdr;
  header.msg_name = &to_[i];
  header.msg_namelen = sizeof to_[i];
  if (messages_[i].datagrams < 2) return;
  header.msg_control = room_[i].bytes.data();
  header.msg_controllen = room_[i].bytes.size();
  cmsghdr* const control = CMSG_FIRSTHDR(&header);
  control->cmsg_level = IPPROTO_UDP;
  control->cmsg_type = UDP_SEGMENT;
  control->cmsg_len = CMSG_LEN(sizeof(std::uint16_t));
  const auto segment = static_cast<std::uint16_t>(messages_[i].segment);
  std::memcpy(CMSG_DATA(control), &segment, sizeof segment);
}

UdpSender::Sent UdpSender::send(int socket, std::span<const Datagram> batch, const sockaddr_in& to,
                                std::size_t most_segment_bytes, DropCounters& drops) {
  Sent sent;
  while (sent.datagrams < batch.size()) {
    const std::size_t count = plan(batch.subspan(sent.datagrams), to, most_segment_bytes);
    const int done = ::sendmmsg(socket, out_.data(), static_cast<unsigned>(count), MSG_DONTWAIT);
    if (done >= 0) {
      for (int i = 0; i < done; ++i)
        sent.datagrams += messages_[static_cast<std::size_t>(i)].datagrams;
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      sent.blocked = true;
      break;
    } else if (messages_[0].datagrams > 1 && refuses_segments(errno)) {
      segments_ = false;
    } else if (errno != EINTR) {
      // The first message was refused (no route, interface down, ICMP error): it is lost.
      drops.add(errno == EMSGSIZE ? DropReason::mtu : DropReason::tx_full, messages_[0].datagrams);
      sent.datagrams += messages_[0].datagrams;
    }
  }
  return sent;
}

bool merge_received(int socket) {
  const int wanted = 1;
  return ::setsockopt(socket, IPPROTO_UDP, UDP_GRO, &wanted, sizeof wanted) == 0;
}

std::size_t merged_bytes(const msghdr& received) {
  for (const cmsghdr* c = CMSG_FIRSTHDR(&received); c != nullptr;
       c = CMSG_NXTHDR(const_cast<msghdr*>(&received), const_cast<cmsghdr*>(c))) {
    if (c->cmsg_level != IPPROTO_UDP || c->cmsg_type != UDP_GRO) continue;
    int bytes = 0;
    std::memcpy(&bytes, CMSG_DATA(c), sizeof bytes);
    return bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
  }
  return 0;
}

}  // namespace tributary::worker
