#include "tools/client/doctor/switch_probe.h"

#include <arpa/inet.h>
#include <netinet/ip.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <vector>

#include "config/text/codec.h"
#include "core/wire/header.h"
#include "tools/client/doctor/interface.h"

namespace tributary::client {
namespace {

using Clock = std::chrono::steady_clock;
using enum Finding::Level;

constexpr std::size_t kMostBytes = 0x10000;
constexpr int kMostSwitches = 16;  // a tree may lead in a circle while switches are reloaded

// The room for extensions is filled with elements, too.
std::vector<std::byte> packet_of(const ProbeQuestion& question, std::uint32_t seq) {
  const std::uint32_t elements = question.bytes + kExtensionRoom;
  wire::Header header;
  header.type = wire::PacketType::probe;
  header.job = question.job;
  header.origin = question.rank;
  header.child = static_cast<std::uint16_t>(question.rank);
  header.seq = seq;
  header.slot = question.wanted == 0 ? 0 : question.wanted + kExtensionRoom;
  header.dtype = wire::DType::uint8;
  header.element_count = static_cast<std::uint16_t>(elements);
  std::vector<std::byte> bytes(wire::kHeaderBytes + elements);
  wire::serialize(header, {}, bytes);
  return bytes;
}

void set_cutting(int fd, int value) {
  ::setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &value, sizeof value);
}

std::string rank_text(std::uint32_t rank) {
  return "rank " + std::to_string(rank);
}

}  // namespace

SwitchProbe::SwitchProbe(std::uint32_t ipv4, std::uint16_t port)
    : fd_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(ipv4);
  if (!fd_) return;
  if (::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0)
    fd_ = worker::FileDescriptor();
  else
    set_cutting(fd_.get(), IP_PMTUDISC_DO);
}

void SwitchProbe::allow_fragments() {
  if (fd_) set_cutting(fd_.get(), IP_PMTUDISC_DONT);
}

std::uint32_t SwitchProbe::known_mtu() const {
  int mtu = 0;
  socklen_t length = sizeof mtu;
  if (!fd_ || ::getsockopt(fd_.get(), IPPROTO_IP, IP_MTU, &mtu, &length) != 0) return 0;
  return static_cast<std::uint32_t>(mtu);
}

// nullopt: none came, or the kernel reports an error.
std::optional<ProbeAnswer> SwitchProbe::take_answer(const ProbeQuestion& question,
                                                    Duration patience, bool& port_closed) {
  const auto end = Clock::now() + std::chrono::nanoseconds(patience.to_ns());
  std::vector<std::byte> bytes(kMostBytes);
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
    pollfd readable{fd_.get(), POLLIN, 0};
    if (left <= 0 || ::poll(&readable, 1, static_cast<int>(left)) <= 0) return std::nullopt;
    const ssize_t got = ::recv(fd_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got < 0) {
      port_closed = errno == ECONNREFUSED;
      return std::nullopt;
    }
    const auto parsed = wire::parse(std::span(bytes).first(static_cast<std::size_t>(got)));
    const auto* const packet = std::get_if<wire::Packet>(&parsed);
    if (packet == nullptr || packet->header.job != question.job || packet->header.seq != seq_)
      continue;
    const wire::Header& h = packet->header;
    return ProbeAnswer{.answered = true,
                       .reason = h.reason,
                       .ask_ipv4 = h.slot,
                       .ask_id = h.origin,
                       .bytes = static_cast<std::uint32_t>(packet->payload.size()),
                       .fragments = (h.flags & wire::kFlagFragments) != 0,
                       .settings = wire::find_start_info(packet->extensions)};
  }
}

ProbeAnswer SwitchProbe::ask(const ProbeQuestion& question, int tries, Duration patience) {
  ProbeAnswer none;
  const std::vector<std::byte> bytes = packet_of(question, ++seq_);
  for (int attempt = 0; fd_ && attempt < tries && !none.port_closed; ++attempt) {
    const bool sent = ::send(fd_.get(), bytes.data(), bytes.size(), 0) >= 0;
    if (!sent && errno == EMSGSIZE) {
      none.too_long = true;
      return none;
    }
    none.port_closed = !sent && errno == ECONNREFUSED;
    if (none.port_closed) break;
    if (const auto answer = take_answer(question, patience, none.port_closed)) return *answer;
  }
  return none;
}

bool refuses_rank(const ProbeAnswer& answer, const ProbeQuestion& question) {
  // An earlier switch, which tells no settings, does not look at the rank.
  return question.rank != wire::kUnknownRank && answer.settings &&
         (answer.reason == wire::Reason::bad_rank ||
          answer.reason == wire::Reason::sender_mismatch);
}

Finding judge(const ProbeAnswer& answer, const std::string& address,
              const ProbeQuestion& question) {
  const std::string subject = "switch " + address;
  const std::string name = "job " + std::to_string(question.job);
  if (answer.port_closed)
    return {error, subject, "the host at this address is there, but no switch listens at the port",
            "compare with switch.address and switch.udp_base_port of the switch's file"};
  if (answer.reason == wire::Reason::unknown_job)
    return {error, subject, "answers, but has no " + name,
            "tributary show jobs, at the switch, lists those that it has; in a tree, is it the "
            "switch of this rank?"};
  return {ok, subject, "answers for " + name, ""};
}

std::uint32_t find_leaf(ProbeAnswer answer, const AskSwitch& ask) {
  for (int n = 0; n < kMostSwitches && answer.ask_ipv4 != 0; ++n) {
    const std::uint32_t next = answer.ask_ipv4;
    answer = ask(next);
    if (answer.answered && answer.reason == wire::Reason::not_joined) return next;
    if (!answer.answered || answer.reason != wire::Reason::bad_rank) return 0;
  }
  return 0;
}

Finding judge_leaf(const ProbeAnswer& answer, std::uint32_t leaf, const std::string& address,
                   const ProbeQuestion& question) {
  const std::string subject = "switch " + address;
  const std::string name = rank_text(question.rank) + " of job " + std::to_string(question.job);
  if (answer.reason == wire::Reason::sender_mismatch)
    return {error, subject, "takes " + name + " through another port alone",
            "compare with the ports of the job's members, and of the workers in a topology: is the "
            "cable, or the rank, another one's?"};
  if (answer.settings && question.rank >= answer.settings->workers)
    return {error, subject,
            "has no " + name + ": there are " + std::to_string(answer.settings->workers),
            "ranks count from 0; see workers of the job in the switch's file"};
  const std::string state = "is not the switch of " + name;
  if (leaf != 0)
    return {error, subject, state + "; that is " + config::format_ipv4(leaf),
            "give the rank the address udp://" + config::format_ipv4(leaf)};
  if (answer.ask_ipv4 == 0)
    return {error, subject, state, "tributary show tree, at the switch, has its ranks"};
  return {error, subject,
          state + "; switch " + std::to_string(answer.ask_id) + " knows more, but does not answer",
          "tributary doctor --address udp://" + config::format_ipv4(answer.ask_ipv4) + " --job " +
              std::to_string(question.job) + " --rank " + std::to_string(question.rank)};
}

}  // namespace tributary::client
