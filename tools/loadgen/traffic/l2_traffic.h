// Plain Ethernet traffic beside the aggregation: many stations behind the ports, which send each
// other frames whose contents, and the port that each should arrive at, are known. Pure.
//
//   Ethernet (type 88B5, local experimental) | u64 serial | u32 from | u32 to | its hash, again and
//   again
#pragma once

#include <cstdint>
#include <span>

#include "core/net/frame.h"
#include "core/prng.h"
#include "tools/loadgen/traffic/frame_sink.h"

namespace tributary::loadgen {

struct L2Counts {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;   // intact, where its station is
  std::uint64_t elsewhere = 0;  // at another port: flooded, or led astray
  std::uint64_t damaged = 0;
  std::uint64_t warm_up_received = 0;  // of those received, before what is measured
};

class L2Traffic {
 public:
  static constexpr std::uint16_t kEtherType = 0x88B5;
  static constexpr std::size_t kLeastFrame = 60;
  static constexpr std::size_t kNoStations = ~std::size_t{0};  // a port that has none

  // Station i is behind port i modulo `ports`.
  L2Traffic(std::uint32_t stations, std::size_t ports, std::size_t frame_bytes, std::uint64_t seed);

  [[nodiscard]] std::uint32_t stations() const { return stations_; }
  [[nodiscard]] std::size_t port_of(std::uint32_t station) const { return station % ports_; }
  static wire::MacAddress mac(std::uint32_t station);

  // A broadcast of the station: the switch learns where it is.
  void announce(std::uint32_t station, FrameSink& out);
  // From a random station behind `port` to a random one behind another.
  void send(std::size_t port, FrameSink& out);
  // A frame with kEtherType that has arrived at `port`.
  void on_frame(std::size_t port, const wire::EthernetView& frame);
  // The measurement begins now.
  void warmed_up() { counts_.warm_up_received = counts_.received; }
  [[nodiscard]] const L2Counts& counts() const { return counts_; }

 private:
  void write(std::uint32_t from, std::uint32_t to, const wire::MacAddress& destination,
             FrameSink& out);
  [[nodiscard]] std::uint32_t random_behind(std::size_t port);

  std::uint32_t stations_;
  std::size_t ports_;
  std::size_t frame_bytes_;
  Prng random_;
  std::uint64_t serial_ = 0;
  L2Counts counts_;
};

}  // namespace tributary::loadgen
