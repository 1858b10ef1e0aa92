// In-band telemetry: what a job asks switches to tell, and what a switch does about it
// (docs/telemetry.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/time.h"
#include "telemetry/wire/int_md.h"

namespace tributary::config {

// Packets whose sequence number is a multiple of `every` are sampled: all switches choose the same.
struct JobTelemetry {
  bool latency = false;
  bool bandwidth = false;
  std::uint32_t every = 64;

  [[nodiscard]] constexpr bool enabled() const { return latency || bandwidth; }
  bool operator==(const JobTelemetry&) const = default;
};

// The values that a job asks of each hop.
constexpr std::uint16_t asked_bitmap(const JobTelemetry& job) {
  using namespace telemetry;
  constexpr std::uint16_t kLatency =
      kNodeId | kPorts | kHopLatency | kQueue | kIngressTime | kEgressTime;
  constexpr std::uint16_t kBandwidth = kNodeId | kPorts | kQueue | kUtilisation;
  return static_cast<std::uint16_t>((job.latency ? kLatency : 0) |
                                    (job.bandwidth ? kBandwidth : 0));
}
// Bytes that the first hop adds to a sampled packet.
constexpr std::size_t metadata_bytes(const JobTelemetry& job) {
  return job.enabled()
             ? telemetry::kIntFixedBytes + std::size_t{telemetry::words_of(asked_bitmap(job))} * 4
             : 0;
}

// Where metadata leaves packets: at the last switch; at each; or where a hop more would not fit.
enum class StripRule : std::uint8_t { sink, every_hop, mtu };
// Treatment of packets with metadata from a port behind which no switch of the domain is.
enum class UntrustedRule : std::uint8_t { strip, drop };

struct TelemetryPort {
  std::string port;
  bool trusted = false;    // another switch of the domain is behind it
  std::uint32_t mbps = 0;  // capacity; 0: utilisation is unknown

  bool operator==(const TelemetryPort&) const = default;
};

// The switch as a transit node of IOAM (RFC 9197): it fills traces in packets that come in by one
// of `ports` and leave by one of them.
struct IoamConfig {
  std::uint16_t name_space = 0;    // 0: the default namespace
  std::vector<std::string> ports;  // none: off

  [[nodiscard]] bool enabled() const { return !ports.empty(); }
  bool operator==(const IoamConfig&) const = default;
};

// A trace has 24 bits for the number of a node; all ones is unknown.
inline constexpr std::uint32_t kMostIoamNode = 0xFFFFFE;

// A report holds the headers of a packet and so many hops at least.
inline constexpr std::uint8_t kDefaultMostHops = 8;
inline constexpr std::uint32_t kMostSampleEvery = 1u << 24;

struct TelemetryConfig {
  std::uint32_t node_id = 0;  // 0: off
  StripRule strip = StripRule::sink;
  UntrustedRule untrusted = UntrustedRule::strip;
  std::string report_to;  // address:port of the telemetry server
  std::string key_file;   // of the key that signs reports; empty: they are not signed
  std::uint16_t udp_port = 5000;
  std::optional<std::uint8_t> dscp;  // set: marks packets in place of the port
  std::uint8_t most_hops = kDefaultMostHops;
  Duration probe = Duration::ms(50);  // between probes of a link; 0: none is sent or answered
  std::vector<TelemetryPort> ports;   // others are not trusted, and of unknown capacity
  IoamConfig ioam;

  [[nodiscard]] bool enabled() const { return node_id != 0; }
  bool operator==(const TelemetryConfig&) const = default;
};

inline bool probes_links(const TelemetryConfig& telemetry) {
  return telemetry.enabled() && telemetry.probe != Duration();
}

}  // namespace tributary::config
