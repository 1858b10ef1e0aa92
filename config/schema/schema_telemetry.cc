#include "config/schema/schema_telemetry.h"

#include "config/schema/schema.h"

namespace tributary::config {
namespace {

const Fields<TelemetryPort>& telemetry_port_fields() {
  using P = TelemetryPort;
  static const Fields<P> fields = {
      scalar("port", &P::port, identifier(), "Name of a port; each at most once.",
             Presence::required),
      scalar("trusted", &P::trusted, boolean(),
             "Another switch of the telemetry domain is behind the port: metadata may come in and "
             "go out. Off: metadata never leaves through it."),
      scalar("mbps", &P::mbps, integer<std::uint32_t>(0, 1'000'000),
             "Capacity, for the utilisation that is reported. 0: utilisation is unknown."),
  };
  return fields;
}

const Fields<IoamConfig>& ioam_fields() {
  using I = IoamConfig;
  static const Fields<I> fields = {
      scalar("namespace", &I::name_space, integer<std::uint16_t>(0, 65535),
             "The IOAM namespace whose traces are filled, beside those of the default one, 0."),
      scalars("ports", &I::ports, identifier(), 0, kMaxPorts,
              "Ports of the IOAM domain: a trace is filled in a packet that comes in by one of "
              "them and leaves by one of them. Left out: none is."),
  };
  return fields;
}

}  // namespace

const Fields<TelemetryConfig>& telemetry_fields() {
  using T = TelemetryConfig;
  static const Fields<T> fields = {
      scalar("node_id", &T::node_id, integer<std::uint32_t>(0, 0xFFFFFFFE),
             "The switch's number in metadata and reports, unique in the domain. 0: telemetry is "
             "off."),
      scalar(
          "report_to", &T::report_to, listen_address(),
          "Address of `tributary-telemetryd` (which has IPv4), for reports by UDP; required with "
          "`node_id`."),
      scalar("key_file", &T::key_file, absolute_path(),
             "File of mode 0600 or 0640 with a key that the server has, too: each datagram of "
             "reports is "
             "signed. Left out: none is."),
      choice(
          "strip", &T::strip,
          {{"sink", StripRule::sink}, {"every-hop", StripRule::every_hop}, {"mtu", StripRule::mtu}},
          "Where metadata is taken out of packets: by the last switch; by each switch; or by "
          "the last one and by one whose hop would exceed the MTU."),
      choice("untrusted", &T::untrusted,
             {{"strip", UntrustedRule::strip}, {"drop", UntrustedRule::drop}},
             "Treatment of packets with metadata that come in through a port that is not trusted."),
      scalar("udp_port", &T::udp_port, integer<std::uint16_t>(1, 65535),
             "UDP destination port that marks packets with metadata; the same in the whole "
             "domain, and used for nothing else."),
      scalar("dscp", &T::dscp, or_absent(integer<std::uint8_t>(1, 63)),
             "DSCP that marks them instead, so that network cards steer them as before. Left out: "
             "`udp_port` marks them."),
      scalar("most_hops", &T::most_hops, integer<std::uint8_t>(1, kMostTelemetryHops),
             "Hops that a packet may collect; beyond that, switches add nothing."),
      scalar("probe", &T::probe, duration(Duration(), kMostProbePause),
             "Time between probes of each link behind a trusted port, which measure its latency "
             "there and back. 0: none is sent or answered. At most 250ms, so that the telemetry "
             "server hears of each link several times a second."),
      list("ports", &T::ports, telemetry_port_fields(), 0, kMaxPorts,
           "Properties of ports. Those not listed are not trusted, and their capacity is "
           "unknown. In a topology, ports that lead to switches with telemetry are trusted."),
      mapping<T, IoamConfig>(
          "ioam", [](auto& t) -> auto& { return t.ioam; }, ioam_fields(),
          "The switch as a transit node of IOAM (RFC 9197, RFC 9486): it fills the space for a "
          "hop's data that the source of an IPv6 packet has allocated. With it, `node_id` is at "
          "most 0xFFFFFE."),
  };
  return fields;
}

const Fields<JobTelemetry>& job_telemetry_fields() {
  using J = JobTelemetry;
  static const Fields<J> fields = {
      scalar("latency", &J::latency, boolean(),
             "Each hop tells its latency, queue and timestamps."),
      scalar("bandwidth", &J::bandwidth, boolean(),
             "Each hop tells its queue and the utilisation of the egress port."),
      scalar("every", &J::every, integer<std::uint32_t>(1, kMostSampleEvery),
             "One packet in so many is sampled: those whose sequence number is a multiple."),
  };
  return fields;
}

}  // namespace tributary::config
