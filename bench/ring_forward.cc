// 1,024 stations with random addresses, half of them behind each of two ring ports, send to each
// other. A batch is one burst of each port; only the loop's turn is timed, and a round's figure is
// that of its median batch. The reference does what testpmd's macswap does: it takes a burst of the
// same frames from such a port, swaps addresses and sends it through the other.
#include "bench/ring_forward.h"

#include <rte_cycles.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "bench/ring_stages.h"
#include "core/net/frame.h"
#include "core/prng.h"
#include "dataplane/host/tsc_clock.h"
#include "tests/dataplane/ring_switch.h"

namespace tributary::bench {
namespace {

constexpr std::size_t kStations = 1024;
constexpr std::size_t kFrameBytes = 64;
constexpr std::size_t kBatches = 512;  // of a round
constexpr std::size_t kPorts = 2;
using Frame = std::array<std::byte, kFrameBytes>;

class Stations {
 public:
  Stations() : ring_(dataplane::test_config(kPorts)) {
    Prng random(20240817);
    for (wire::MacAddress& mac : macs_) {
      for (auto& byte : mac) byte = static_cast<std::uint8_t>(random.below(256));
      mac[0] = 0x02;
    }
  }

  // A burst into each port, from stations behind it to those behind the other.
  void fill() {
    ring_.now = ring_.now + Duration::us(10);
    for (std::size_t port = 0; port < kPorts; ++port)
      for (std::size_t i = 0; i < dataplane::kBurst; ++i) {
        const std::size_t k = next_ + i;
        ring_.inject(port, frame(station(port ^ 1, k * 7), station(port, k)));
      }
    next_ += dataplane::kBurst;
  }
  // Whether out of each port came what went into the other, in order, with its addresses `swapped`
  // or as they were.
  bool take(bool swapped) {
    bool all = true;
    for (std::size_t port = 0; port < kPorts; ++port) {
      const std::vector<dataplane::Bytes> frames = ring_.sent(port);
      all = all && frames.size() == dataplane::kBurst;
      for (std::size_t i = 0; all && i < frames.size(); ++i) {
        const std::size_t k = next_ - dataplane::kBurst + i;
        const auto& to = station(port, k * 7);
        const auto& from = station(port ^ 1, k);
        all = std::ranges::equal(frames[i], swapped ? frame(from, to) : frame(to, from));
      }
    }
    return all;
  }
  // Each station is heard once; what is flooded on the way is thrown away.
  void announce() {
    for (std::size_t n = 0; n < kStations / kPorts; n += dataplane::kBurst) {
      fill();
      ring_.turn();
      take(false);
    }
  }
  void forward() { ring_.turn(); }
  void swap() {
    for (std::size_t port = 0; port < kPorts; ++port) {
      std::array<rte_mbuf*, dataplane::kBurst> burst;
      const std::uint16_t got =
          rte_eth_rx_burst(ring_.port(port).ethdev(), 0, burst.data(), burst.size());
      for (std::uint16_t i = 0; i < got; ++i) {
        auto* addresses = rte_pktmbuf_mtod(burst[i], wire::MacAddress*);
        std::swap(addresses[0], addresses[1]);
      }
      rte_eth_tx_burst(ring_.port(port ^ 1).ethdev(), 0, burst.data(), got);
    }
  }
  [[nodiscard]] const dataplane::PacketLoop& loop() { return ring_.packet_loop(); }

 private:
  [[nodiscard]] const wire::MacAddress& station(std::size_t port, std::size_t k) const {
    return macs_[(k * kPorts + port) % kStations];
  }
  static Frame frame(const wire::MacAddress& to, const wire::MacAddress& from) {
    Frame bytes{};
    std::memcpy(bytes.data(), to.data(), to.size());
    std::memcpy(bytes.data() + to.size(), from.data(), from.size());
    bytes[2 * to.size()] = std::byte{0x88};
    bytes[2 * to.size() + 1] = std::byte{0xB5};
    return bytes;
  }

  dataplane::RingSwitch ring_;
  std::array<wire::MacAddress, kStations> macs_{};
  std::size_t next_ = 0;
};

// Million frames a second.
template <typename Work>
double round_of(Stations& stations, const Work& work, bool swaps, bool& verified) {
  std::vector<double> cycles;
  for (std::size_t batch = 0; batch < kBatches; ++batch) {
    stations.fill();
    const std::uint64_t began = rte_rdtsc();
    work();
    cycles.push_back(static_cast<double>(rte_rdtsc() - began));
    verified = stations.take(swaps) && verified;
  }
  return kPorts * dataplane::kBurst / median(cycles) * dataplane::tsc_hz() * 1e-6;
}

}  // namespace

void run_ring_forward(const Options& options, Report& report) {
  Stations stations;
  stations.announce();
  std::vector<double> ours;
  std::vector<double> theirs;
  std::vector<double> ratios;
  RingStages stages(stations.loop());
  Row row;
  row.suite = "ring";
  row.case_name = "64 B, 1,024 addresses on 2 ring ports, one core";
  row.metric = "forwarded frames";
  row.unit = "Mpps";
  row.verified = true;
  for (std::size_t round = 0; round < options.rounds(); ++round) {
    stages.begin();
    ours.push_back(round_of(
        stations, [&] { stations.forward(); }, false, row.verified));
    stages.end(kBatches * kPorts * dataplane::kBurst);
    theirs.push_back(round_of(
        stations, [&] { stations.swap(); }, true, row.verified));
    ratios.push_back(ours.back() / theirs.back());
  }
  row.value = median(ours);
  row.runs = ours.size();
  row.min = *std::min_element(ours.begin(), ours.end());
  row.max = *std::max_element(ours.begin(), ours.end());
  row.reference = "macswap";
  row.reference_value = median(theirs);
  row.ratio = median(ratios);
  report.add(row);
  stages.add_to(report, row);
}

}  // namespace tributary::bench
