#include "tools/client/doctor/switch_probe.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "core/wire/header.h"
#include "worker/transport/file_descriptor.h"

namespace tributary::client {
namespace {

constexpr int kTries = 3;

// The answer to one datagram; nullopt: none came, or it is no packet of ours.
std::optional<wire::Header> take_answer(int fd, Duration patience, bool& port_closed) {
  pollfd readable{fd, POLLIN, 0};
  if (::poll(&readable, 1, static_cast<int>(patience.to_ns() / 1'000'000)) <= 0)
    return std::nullopt;
  std::array<std::byte, 2048> bytes;
  const ssize_t got = ::recv(fd, bytes.data(), bytes.size(), 0);
  if (got < 0) {
    port_closed = errno == ECONNREFUSED;
    return std::nullopt;
  }
  const auto parsed = wire::parse(std::span(bytes).first(static_cast<std::size_t>(got)));
  if (const auto* const packet = std::get_if<wire::Packet>(&parsed)) return packet->header;
  return std::nullopt;
}

}  // namespace

ProbeAnswer probe_switch(std::uint32_t ipv4, std::uint16_t port, std::uint32_t job,
                         Duration patience) {
  ProbeAnswer answer;
  const worker::FileDescriptor fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(ipv4);
  if (!fd || ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0)
    return answer;
  wire::Header header;
  header.type = wire::PacketType::probe;
  header.job = job;
  std::array<std::byte, wire::kHeaderBytes + 8> bytes{};
  const std::size_t length = wire::serialize(header, {}, bytes);
  for (int attempt = 0; attempt < kTries && !answer.answered && !answer.port_closed; ++attempt) {
    if (::send(fd.get(), bytes.data(), length, 0) < 0 && errno == ECONNREFUSED)
      answer.port_closed = true;
    else if (const auto said = take_answer(fd.get(), patience, answer.port_closed);
             said && said->job == job) {
      answer.answered = true;
      answer.reason = said->reason;
    }
  }
  return answer;
}

Finding judge(const ProbeAnswer& answer, const std::string& address, std::uint32_t job) {
  using enum Finding::Level;
  const std::string subject = "switch " + address;
  const std::string name = "job " + std::to_string(job);
  if (answer.port_closed)
    return {error, subject, "the host at this address is there, but no switch listens at the port",
            "compare with switch.address and switch.udp_base_port of the switch's file"};
  if (!answer.answered)
    return {error, subject, "does not answer",
            "is it running (systemctl status tributary-switchd), is its port up (tributary show "
            "ports), does a firewall drop UDP?"};
  if (answer.reason == wire::Reason::unknown_job)
    return {error, subject, "answers, but has no " + name,
            "tributary show jobs, at the switch, lists those that it has"};
  return {ok, subject, "answers for " + name, ""};
}

}  // namespace tributary::client
