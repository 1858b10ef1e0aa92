// Contributions that are summed where workers have written them, without a checksum (rule 18), and
// results that are written once.
#include "dataplane/memif/lent_frame.h"

#include <gtest/gtest.h>
#include <rte_mempool.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "dataplane/aggregation/result_regions.h"
#include "dataplane/loop/packet_loop.h"
#include "dataplane/memif/memif_port.h"
#include "tests/dataplane/test_packet_loop.h"
#include "tests/telemetry/wire/frames.h"
#include "worker/memif/shared_results.h"
#include "worker/transport/memif_control.h"
#include "worker/transport/memif_rings.h"

namespace tributary::dataplane {
namespace {

constexpr std::uint32_t kJob = 1;
constexpr std::size_t kElements = 512;
constexpr std::size_t kChecksumAt = wire::kUdpPayloadOffset - 2;
constexpr std::size_t kElementsAt = wire::kUdpPayloadOffset + wire::kHeaderBytes;
using Values = std::array<std::int32_t, kElements>;

Values values(std::int32_t value) {
  Values all;
  all.fill(value);
  return all;
}

Bytes without_checksum(Bytes frame) {
  std::memset(frame.data() + kChecksumAt, 0, 2);
  return frame;
}

config::SwitchConfig job_config(wire::Integrity integrity) {
  config::SwitchConfig config = test_config(2);
  for (auto& port : config.ports) port.mtu = 4000;
  config::JobConfig job;
  job.id = kJob;
  job.workers = 2;
  job.window = 8;
  job.chunk_bytes = sizeof(Values);
  job.integrity = integrity;
  config.jobs = {job};
  return config;
}

// A switch with two memif ports, and a rank of the job at each.
class MemorySwitch {
 public:
  explicit MemorySwitch(wire::Integrity integrity = wire::Integrity::udp_checksum,
                        bool tells = true)
      : MemorySwitch(job_config(integrity), tells) {}
  explicit MemorySwitch(config::SwitchConfig config, bool tells = true)
      : config_(std::move(config)) {
    start_test_eal();
    pool_.emplace(PoolSize{.buffers = 511, .data_room = data_room(config_), .unpadded = false});
    const std::string socket = "tributary-in-place-" + std::to_string(::getpid());
    std::vector<Port*> ports;
    for (std::uint32_t i = 0; i < 2; ++i) {
      config_.ports[i].devargs = "net_memif_in_place" + std::to_string(i) +
                                 ",role=server,bsize=9728,id=" + std::to_string(i) +
                                 ",socket=" + socket;
      ports_.push_back(std::make_unique<Port>(config_.ports[i]));
      if (tells) ports_[i]->memif_server()->tell(config_.ipv4, config_.udp_base_port);
      ports_[i]->set_up(std::array{pool_->get()});
      ports.push_back(ports_[i].get());
      rings.push_back(std::make_unique<worker::MemifRings>());
      controls_.push_back(
          std::make_unique<worker::MemifControl>(socket, i, *rings[i], Duration::seconds(60)));
      while (!ports_[i]->poll_link()) sched_yield();
      ranks.emplace_back(config_, kJob, i, std::uint16_t{2});
    }
    loop.emplace(config_, ports, pool_->get(), Randomness{77, 1});
  }
  ~MemorySwitch() {
    loop.reset();
    EXPECT_EQ(rte_mempool_in_use_count(pool_->get()), 0u);
  }

  [[nodiscard]] const config::SwitchConfig& config() const { return config_; }
  [[nodiscard]] bool agreed() const { return controls_[0]->told().unchecked != 0; }
  // Returns where the frame lies.
  std::byte* write(std::size_t port, const Bytes& frame) {
    const std::span<std::byte> room = rings[port]->tx_frame();
    std::copy(frame.begin(), frame.end(), room.begin());
    rings[port]->tx_commit(frame.size());
    return room.data();
  }
  void turn() {
    for (auto& ring : rings) ring->tx_flush();
    now = now + Duration::us(1);
    loop->turn(now);
  }
  std::vector<Bytes> read(std::size_t port) {
    std::vector<Bytes> all;
    std::span<const std::byte> frame;
    while (rings[port]->rx_next(frame) == worker::MemifRings::Rx::frame)
      all.emplace_back(frame.begin(), frame.end());
    rings[port]->rx_release();
    return all;
  }
  void join() {
    for (std::size_t i = 0; i < 2; ++i) write(i, ranks[i].join(i + 1));
    turn();
    turn();
    for (std::size_t i = 0; i < 2; ++i) {
      std::uint16_t epoch = 0;
      for (Bytes& frame : read(i))
        if (const auto packet = read_any(frame)) epoch = packet->packet.header.epoch;
      ASSERT_NE(epoch, 0);
      ranks[i].epoch = epoch;
    }
  }
  // The client at that port maps the memory that it is offered at the start of an epoch.
  void map_results(std::size_t port) {
    mapped[port] = nullptr;
    while (mapped[port] == nullptr) {
      ASSERT_FALSE(controls_[port]->server_left());
      for (const auto& offer : controls_[port]->take_offers()) {
        mapped[port] = worker::SharedResults::map(offer.share, offer.memory.get());
        ASSERT_NE(mapped[port], nullptr);
        controls_[port]->accept(offer.share);
      }
      sched_yield();
    }
    while (!ports_[port]->reads_results(mapped[port]->region())) sched_yield();
  }
  // One contribution of each rank, and the turn in which they are summed.
  void sum(std::uint32_t seq, std::int32_t first, std::int32_t second) {
    write(0, without_checksum(ranks[0].contribution(seq, values(first))));
    write(1, without_checksum(ranks[1].contribution(seq, values(second))));
    turn();
  }
  // The result to which the only frame at a port refers; nullopt: it refers to none.
  std::optional<Values> referred(std::size_t port) {
    const std::vector<Bytes> frames = read(port);
    wire::EthernetView eth;
    if (frames.size() != 1 || wire::parse_ethernet(frames[0], eth) != DropReason::none ||
        eth.ether_type != worker::memif::kEtherTypeResult)
      return std::nullopt;
    worker::memif::ResultReference at{};
    std::memcpy(&at, eth.payload.data(), sizeof at);
    std::vector<std::byte> room;
    const auto bytes = mapped[port]->read(at, room);
    wire::Packet packet;
    if (!bytes || wire::parse(*bytes, packet) != DropReason::none) return std::nullopt;
    EXPECT_EQ(packet.header.type, wire::PacketType::result);
    EXPECT_EQ(eth.destination, wire::multicast_mac(config::job_group_ipv4(kJob)));
    Values out;
    EXPECT_EQ(packet.payload.size(), sizeof out);
    std::memcpy(&out, packet.payload.data(), sizeof out);
    return out;
  }
  // A packet that may have no checksum.
  static std::optional<Received> read_any(std::span<const std::byte> frame) {
    Received r;
    if (wire::parse_ethernet(frame, r.ethernet) != DropReason::none) return std::nullopt;
    bool is_udp = false;
    if (wire::parse_udp4(r.ethernet.payload, r.udp, is_udp) != DropReason::none || !is_udp)
      return std::nullopt;
    r.udp.checksum_checked = r.udp.checksum == 0;
    if (wire::parse(r.udp.payload, r.packet) != DropReason::none ||
        wire::check_integrity(r.udp, r.packet) != DropReason::none)
      return std::nullopt;
    return r;
  }
  // The elements of the only result at a port; `checksum`: of its datagram.
  std::optional<Values> result(std::size_t port, std::uint16_t& checksum) {
    std::optional<Values> out;
    for (const Bytes& frame : read(port)) {
      const auto packet = read_any(frame);
      if (!packet || packet->packet.header.type != wire::PacketType::result) continue;
      EXPECT_FALSE(out) << "one result";
      checksum = packet->udp.checksum;
      EXPECT_EQ(packet->packet.payload.size(), sizeof(Values));
      std::memcpy(&out.emplace(), packet->packet.payload.data(), sizeof(Values));
    }
    return out;
  }
  [[nodiscard]] std::uint64_t drops(std::size_t port, DropReason reason) const {
    return loop->port_counters(port).drops.get(reason);
  }

  std::vector<std::unique_ptr<worker::MemifRings>> rings;
  std::vector<TestWorker> ranks;
  std::array<std::shared_ptr<const worker::SharedResults>, 2> mapped;
  std::optional<PacketLoop> loop;
  Instant now = Instant::from_ns(1'000'000'000);

 private:
  config::SwitchConfig config_;
  std::optional<FramePool> pool_;
  std::vector<std::unique_ptr<Port>> ports_;
  std::vector<std::unique_ptr<worker::MemifControl>> controls_;
};

TEST(InPlaceTimed, T14_SumsAreMadeOfPacketsWithoutChecksums) {
  MemorySwitch sw;
  ASSERT_TRUE(sw.agreed());
  sw.join();
  for (std::uint32_t seq = 0; seq < 40; ++seq) {
    const auto base = static_cast<std::int32_t>(100 * seq);
    sw.write(0, without_checksum(sw.ranks[0].contribution(seq, values(base + 1))));
    sw.write(1, without_checksum(sw.ranks[1].contribution(seq, values(base + 20))));
    sw.turn();
    for (std::size_t port = 0; port < 2; ++port) {
      std::uint16_t checksum = 1;
      EXPECT_EQ(sw.result(port, checksum), values(2 * base + 21));
      EXPECT_EQ(checksum, 0) << "nor do results have one";
      EXPECT_EQ(sw.rings[port]->tx_room(), sw.rings[port]->depth()) << "all is given back";
    }
  }
}

TEST(InPlaceTimed, T14_ResultsAreWrittenOnceForRanksThatHaveMappedThem) {
  MemorySwitch sw;
  sw.join();
  sw.sum(0, 1, 20);
  std::uint16_t checksum = 1;
  EXPECT_EQ(sw.result(0, checksum), values(21)) << "nobody has mapped anything";
  EXPECT_EQ(sw.result(1, checksum), values(21));
  sw.map_results(0);
  sw.sum(1, 2, 30);
  EXPECT_EQ(sw.result(0, checksum), values(32)) << "one alone is copied to";
  EXPECT_EQ(sw.result(1, checksum), values(32));
  sw.map_results(1);
  EXPECT_EQ(sw.mapped[0]->region(), sw.mapped[1]->region());
  for (std::uint32_t seq = 2; seq < 60; ++seq) {
    const auto base = static_cast<std::int32_t>(seq);
    sw.sum(seq, base, 1000 * base);
    EXPECT_EQ(sw.referred(0), values(1001 * base));
    EXPECT_EQ(sw.referred(1), values(1001 * base));
  }
}

config::SwitchConfig telemetry_config(std::uint32_t every) {
  config::SwitchConfig config = job_config(wire::Integrity::udp_checksum);
  config.telemetry.node_id = 7;
  config.telemetry.report_to = "127.0.0.1:9";
  config.jobs[0].telemetry = {.latency = true, .bandwidth = false, .every = every};
  return config;
}

// C5: where one result in so many is sampled, the others cost what they cost without telemetry.
TEST(InPlaceTimed, C5_ResultsThatTelemetryDoesNotSampleAreWrittenOnce) {
  MemorySwitch sw(telemetry_config(4));
  sw.join();
  sw.map_results(0);
  sw.map_results(1);
  for (std::uint32_t seq = 0; seq < 8; ++seq) {
    const auto base = static_cast<std::int32_t>(seq);
    sw.sum(seq, base, 1000 * base);
    for (std::size_t port = 0; port < 2; ++port) {
      if (seq % 4 != 0) {
        EXPECT_EQ(sw.referred(port), values(1001 * base)) << seq;
        continue;
      }
      std::uint16_t checksum = 0;
      EXPECT_EQ(sw.result(port, checksum), values(1001 * base)) << seq;
      EXPECT_NE(checksum, 0) << "as it would be on a wire";
    }
  }
  const TelemetryCounters& counters = sw.loop->telemetry()->counters();
  EXPECT_EQ(counters.sampled.get(), 2u);
  std::size_t ends = 0;
  for (ReportRecord record; sw.loop->telemetry()->ring().pop(record);)
    ends += record.of_domain.op_end ? 1 : 0;
  EXPECT_EQ(ends, 8u) << "C7: each op of a chunk has an end";
}

// C6: behind a frame that goes for its metadata, those in their ranks' memory are made whole.
TEST(InPlaceTimed, C6_AFrameWithMetadataIsDroppedAndThoseBehindItAreSummed) {
  config::SwitchConfig config = telemetry_config(1);
  config.telemetry.untrusted = config::UntrustedRule::drop;
  MemorySwitch sw(config);
  sw.join();
  const Bytes plain = without_checksum(sw.ranks[0].contribution(0, values(1)));
  telemetry::test::Buffer buffer(plain);
  ASSERT_EQ(telemetry::insert_int(buffer.view, {}, telemetry::kNodeId, 8, {}),
            telemetry::Outcome::done);
  sw.write(0, buffer.now());
  sw.write(0, plain);
  sw.write(1, without_checksum(sw.ranks[1].contribution(0, values(20))));
  sw.turn();
  EXPECT_EQ(sw.drops(0, DropReason::telemetry_untrusted), 1u);
  std::uint16_t checksum = 0;
  EXPECT_EQ(sw.result(1, checksum), values(21));
}

// Whoever has asked for a result by itself gets a copy.
TEST(InPlaceTimed, AProbeIsAnsweredByACopy) {
  MemorySwitch sw;
  sw.join();
  sw.map_results(0);
  sw.map_results(1);
  sw.sum(0, 1, 20);
  EXPECT_EQ(sw.referred(0), values(21));
  wire::Header probe = sw.ranks[0].header(wire::PacketType::probe);
  sw.write(0, sw.ranks[0].frame(probe, {}, {}));
  sw.turn();
  std::uint16_t checksum = 1;
  EXPECT_EQ(sw.result(0, checksum), values(21));
  EXPECT_EQ(checksum, 0);
}

TEST(InPlaceTimed, MemoryForResultsIsForLongChunksBehindMemifServers) {
  config::SwitchConfig config = job_config(wire::Integrity::udp_checksum);
  EXPECT_EQ(ResultRegions(config).of(kJob), nullptr) << "no port is a memif server";
  config.ports[0].devargs = "net_memif0,role=server,id=0";
  const ResultRegions some(config);
  ASSERT_NE(some.of(kJob), nullptr);
  EXPECT_EQ(some.of(kJob + 1), nullptr);
  EXPECT_EQ(some.of(kJob)->share().slots, 16u) << "two windows";
  EXPECT_EQ(ResultRegions(config, &some).of(kJob), some.of(kJob)) << "nothing has changed";
  config.jobs[0].window = 16;
  EXPECT_NE(ResultRegions(config, &some).of(kJob), some.of(kJob));
  config.jobs[0].integrity = wire::Integrity::always;
  EXPECT_EQ(ResultRegions(config).of(kJob), nullptr);
  config.jobs[0].integrity = wire::Integrity::udp_checksum;
  config.jobs[0].chunk_bytes = 256;
  EXPECT_EQ(ResultRegions(config).of(kJob), nullptr);
}

TEST(InPlaceTimed, C1_WhatAClientChangesMeanwhileSpoilsItsOwnPartAlone) {
  MemorySwitch sw;
  sw.join();
  std::atomic<std::byte*> at{nullptr};
  std::atomic<bool> stop{false};
  std::thread client([&] {
    while (!stop.load(std::memory_order_relaxed)) {
      std::byte* const frame = at.load(std::memory_order_acquire);
      if (frame == nullptr) continue;
      for (std::int32_t value : {2, 1})
        for (std::size_t i = 0; i < kElements; ++i)
          std::atomic_ref(*reinterpret_cast<std::int32_t*>(frame + kElementsAt + 4 * i))
              .store(value, std::memory_order_relaxed);
    }
  });
  for (std::uint32_t seq = 0; seq < 300; ++seq) {
    at.store(sw.write(0, without_checksum(sw.ranks[0].contribution(seq, values(1)))),
             std::memory_order_release);
    sw.write(1, without_checksum(sw.ranks[1].contribution(seq, values(10))));
    sw.turn();
    at.store(nullptr, std::memory_order_release);
    for (std::size_t port = 0; port < 2; ++port) {
      std::uint16_t checksum = 0;
      const auto sum = sw.result(port, checksum);
      ASSERT_TRUE(sum) << seq;
      for (const std::int32_t element : *sum)
        ASSERT_TRUE(element == 11 || element == 12) << element << " in " << seq;
    }
  }
  stop.store(true);
  client.join();
}

TEST(InPlaceTimed, T14_IntegrityAlwaysKeepsTheChecksums) {
  MemorySwitch sw(wire::Integrity::always);
  sw.join();
  sw.write(0, sw.ranks[0].contribution(0, values(1)));
  sw.write(1, sw.ranks[1].contribution(0, values(20)));
  sw.turn();
  std::uint16_t checksum = 0;
  EXPECT_EQ(sw.result(0, checksum), values(21));
  EXPECT_NE(checksum, 0);
}

TEST(InPlaceTimed, AClientThatHasNotAgreedNeedsAChecksum) {
  MemorySwitch sw(wire::Integrity::udp_checksum, false);
  ASSERT_FALSE(sw.agreed());
  sw.join();
  sw.write(0, without_checksum(sw.ranks[0].contribution(0, values(1))));
  sw.turn();
  EXPECT_EQ(sw.drops(0, DropReason::no_integrity), 1u);
  sw.write(0, sw.ranks[0].contribution(0, values(1)));
  sw.write(1, sw.ranks[1].contribution(0, values(20)));
  sw.turn();
  std::uint16_t checksum = 0;
  EXPECT_EQ(sw.result(0, checksum), values(21));
  EXPECT_NE(checksum, 0);
}

TEST(InPlaceTimed, PacketsWithAChecksumOrACrcAreCheckedAsEver) {
  MemorySwitch sw;
  sw.join();
  Bytes wrong = sw.ranks[0].contribution(0, values(1));
  wrong.back() ^= std::byte{1};
  sw.write(0, wrong);
  sw.ranks[0].use_crc32c = true;
  Bytes wrong_crc = sw.ranks[0].contribution(0, values(1));
  wrong_crc.back() ^= std::byte{1};
  sw.write(0, wrong_crc);
  sw.turn();
  EXPECT_EQ(sw.drops(0, DropReason::checksum), 1u);
  EXPECT_EQ(sw.drops(0, DropReason::crc32c), 1u);
  sw.write(0, sw.ranks[0].contribution(0, values(1)));
  sw.write(1, sw.ranks[1].contribution(0, values(20)));
  sw.turn();
  std::uint16_t checksum = 0;
  EXPECT_EQ(sw.result(0, checksum), values(21));
}

TEST(InPlaceTimed, FramesToOthersArriveWhole) {
  MemorySwitch sw;
  Bytes frame(1400);
  for (std::size_t i = 0; i < frame.size(); ++i) frame[i] = static_cast<std::byte>(i * 7);
  const auto other = sw.ranks[1].mac();
  const auto own = sw.ranks[0].mac();
  std::memcpy(frame.data(), other.data(), other.size());
  std::memcpy(frame.data() + 6, own.data(), own.size());
  sw.write(0, frame);
  sw.turn();
  EXPECT_EQ(sw.read(1), std::vector<Bytes>{frame});
  EXPECT_EQ(sw.rings[0]->tx_room(), sw.rings[0]->depth());
}

// A contribution to the same ports of another host: forwarded, elements and all.
TEST(InPlaceTimed, AContributionToAnotherSwitchIsForwardedWhole) {
  MemorySwitch sw;
  sw.ranks[0].epoch = 3;
  Bytes frame = without_checksum(sw.ranks[0].contribution(0, values(77)));
  const auto other = sw.ranks[1].mac();
  std::memcpy(frame.data(), other.data(), other.size());
  sw.write(0, frame);
  sw.turn();
  EXPECT_EQ(sw.read(1), std::vector<Bytes>{frame});
}

TEST(InPlaceTimed, ABareContributionIsToldByItsHead) {
  const config::SwitchConfig config = job_config(wire::Integrity::udp_checksum);
  TestWorker rank(config, kJob, 0, 2);
  const Bytes good = without_checksum(rank.contribution(0, values(1)));
  const auto judge = [&](const Bytes& frame) {
    return is_bare_contribution(std::span(frame).first(kLentHeadBytes));
  };
  EXPECT_TRUE(judge(good));
  EXPECT_FALSE(judge(rank.contribution(0, values(1)))) << "its checksum is to be checked";
  const auto with = [&](std::size_t at, int value) {
    Bytes frame = good;
    frame[at] = static_cast<std::byte>(value);
    return frame;
  };
  const std::size_t header = wire::kUdpPayloadOffset;
  EXPECT_FALSE(judge(with(13, 0x06))) << "ARP";
  EXPECT_FALSE(judge(with(14, 0x46))) << "IP options";
  EXPECT_FALSE(judge(with(20, 0x20))) << "a fragment";
  EXPECT_FALSE(judge(with(21, 0x01))) << "a later one";
  EXPECT_FALSE(judge(with(23, 6))) << "TCP";
  EXPECT_FALSE(judge(with(header + offsetof(wire::HeaderV1, type), 5))) << "a probe";
  EXPECT_FALSE(judge(with(header + offsetof(wire::HeaderV1, encoding), 1))) << "block-scaled";
  EXPECT_FALSE(judge(with(header + offsetof(wire::HeaderV1, extension_words), 1)));
}

}  // namespace
}  // namespace tributary::dataplane
