#include "control/telemetry/report_sender.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <span>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "dataplane/frame/frame_pool.h"
#include "telemetry/table/replay_guard.h"
#include "telemetry/wire/report.h"

namespace tributary::control {
namespace {

using dataplane::ReportRecord;
using telemetry::Report;
using telemetry::ReportWriter;

// The largest record fits an empty datagram, with a trailer.
static_assert(telemetry::kGroupBytes + telemetry::kReportHeaderBytes + telemetry::kReportMainBytes +
                  telemetry::kMostHopWords * std::size_t{4} + ReportRecord::kMostInner + 3 +
                  telemetry::kTrailerBytes <=
              1400);

// "10.0.0.9:32766" or "[fd00::9]:32766".
void resolve(const std::string& text, sockaddr_storage& address, socklen_t& length) {
  const std::size_t colon = text.rfind(':');
  std::string host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (colon == std::string::npos ||
      getaddrinfo(host.c_str(), text.c_str() + colon + 1, &hints, &found) != 0)
    throw std::runtime_error("switch.telemetry.report_to: '" + text + "' is no address");
  const auto free = [](addrinfo* all) { freeaddrinfo(all); };
  const std::unique_ptr<addrinfo, decltype(free)> owner(found, free);
  std::memcpy(&address, found->ai_addr, length = found->ai_addrlen);
}

Report report_of(const ReportRecord& record) {
  Report report;
  report.bitmap = record.bitmap;
  report.inner_type = record.inner_type;
  report.inner = record.inner();
  report.intermediate = record.intermediate;
  report.dropped = record.dropped;
  const std::uint32_t queue = record.own.queue_occupancy;
  report.congested = queue != telemetry::kUnknown24 && queue >= dataplane::kMarkBacklog;
  report.tracked = record.inner_bytes != 0;
  return report;
}

}  // namespace

ReportSender::ReportSender(std::uint32_t node, const std::string& to,
                           std::unique_ptr<const ReportKey> key)
    : node_(node), key_(std::move(key)) {
  resolve(to, to_, to_length_);
  socket_ = socket(to_.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket_ < 0)
    throw std::runtime_error("switch.telemetry.report_to: " +
                             std::generic_category().message(errno));
}

ReportSender::~ReportSender() {
  if (socket_ >= 0) close(socket_);
}

std::size_t ReportSender::drain(std::uint8_t lcore, dataplane::LoopTelemetry& of) {
  std::uint32_t& sequence = sequences_[lcore];
  const auto room =
      std::span(datagram_).first(datagram_.size() - (key_ ? telemetry::kTrailerBytes : 0));
  const auto begin = [&] { return ReportWriter({lcore, sequence, node_}, room); };
  ReportWriter writer = begin();
  const auto end = [&] {
    if (writer.empty()) return;
    send(writer.length(), of.report_counters());
    sequence = (sequence + 1) & telemetry::kSequenceMask;
    writer = begin();
  };
  std::size_t taken = 0;
  for (; taken < dataplane::kReportRingSize && of.ring().pop(record_); ++taken) {
    const Report report = report_of(record_);
    if (writer.add(report, record_.own, record_.of_domain)) continue;
    end();
    writer.add(report, record_.own, record_.of_domain);
  }
  end();
  return taken;
}

// At least the time: it goes on behind the numbers of the process before, whatever that sent.
std::uint64_t ReportSender::next_signature() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  signature_ = telemetry::ReplayGuard::sequence_after(signature_, static_cast<std::uint64_t>(ns));
  return signature_;
}

void ReportSender::send(std::size_t bytes, dataplane::ReportCounters& counters) {
  if (key_) bytes = key_->sign(datagram_, bytes, next_signature());
  const auto sent = sendto(socket_, datagram_.data(), bytes, MSG_NOSIGNAL,
                           reinterpret_cast<const sockaddr*>(&to_), to_length_);
  (sent == static_cast<ssize_t>(bytes) ? counters.datagrams : counters.refused).add();
}

}  // namespace tributary::control
