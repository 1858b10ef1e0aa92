// Suite `host`: what a memif port costs with the switch's own server, beside DPDK's driver.
//
// Two switches in this process take turns, one on ports of each kind, each with clients in shared
// memory as the workers' library has them. Clients fill their rings, then the loop turns until all
// has left: only that is timed. Then every client reads what it got. In `contributions` 8 workers
// sum one window after the other, and compare every element; packets have a checksum at the driver,
// and none where the own server has agreed to that, as with the library, whose clients also read
// results where that server has written them once. In `frames` two ports carry plain frames, which
// are compared byte for byte.
#include <rte_dev.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include "bench/harness.h"
#include "core/wire/integrity.h"
#include "dataplane/loop/packet_loop.h"
#include "dataplane/memif/memif_port.h"
#include "tests/dataplane/ring_switch.h"
#include "tools/loadgen/player.h"
#include "worker/memif/shared_results.h"
#include "worker/transport/memif_address.h"
#include "worker/transport/memif_control.h"

namespace tributary::bench {
namespace {

constexpr std::uint32_t kJob = 1;
constexpr std::uint32_t kWindow = 64;  // chunks of an op: a round sums one window
constexpr std::uint32_t kWorkers = 8;
constexpr int kMostTurns = 1'000;
constexpr std::size_t kTimesTheRounds = 10;

enum class Server : std::uint8_t { own, driver };

// A switch whose ports are memifs, and a client of each.
class HostSwitch {
 public:
  HostSwitch(config::SwitchConfig config, Server server)
      : pool_(dataplane::PoolSize{
            .buffers = 1023, .data_room = dataplane::data_room(config), .unpadded = false}) {
    static int made = 0;
    const std::string socket =
        "tributary-bench-" + std::to_string(::getpid()) + "-" + std::to_string(made++);
    std::vector<dataplane::Port*> ports;
    for (std::uint32_t i = 0; i < config.ports.size(); ++i) {
      config.ports[i].devargs = "net_memif" + std::to_string(made) + "_" + std::to_string(i) +
                                ",role=server,bsize=9728,id=" + std::to_string(i) +
                                ",socket=" + socket;
      ports_.push_back(open(config.ports[i], server));
      if (server == Server::own)
        ports_.back()->memif_server()->tell(config.ipv4, config.udp_base_port);
      ports_.back()->set_up(std::array{pool_.get()});
      ports.push_back(ports_.back().get());
      connect(socket, i);
    }
    loop_.emplace(config, ports, pool_.get(), dataplane::Randomness{77, 1});
  }

  [[nodiscard]] worker::MemifRings& client(std::size_t port) { return *rings_[port]; }
  // Memory with results that the switch has offered to that client, if it has.
  const worker::SharedResults* results(std::size_t port) {
    if (shared_.size() <= port) shared_.resize(port + 1);
    worker::MemifControl& control = *controls_[port];
    if (shared_[port] == nullptr && !control.server_left())
      for (const auto& offer : control.take_offers()) {
        shared_[port] = worker::SharedResults::map(offer.share, offer.memory.get());
        if (shared_[port] != nullptr) control.accept(offer.share);
      }
    return shared_[port].get();
  }
  [[nodiscard]] bool reads_results() const {
    return std::ranges::all_of(shared_, [](const auto& one) { return one != nullptr; }) &&
           std::ranges::all_of(
               ports_, [&](const auto& port) { return port->reads_results(shared_[0]->region()); });
  }
  [[nodiscard]] bool unchecked() const { return controls_[0]->told().unchecked != 0; }
  // Until nothing more arrives.
  void turn() {
    int idle = 0;
    for (int i = 0; i < kMostTurns && idle < 2; ++i) {
      now = now + Duration::us(1);
      idle = loop_->turn(now) == 0 ? idle + 1 : 0;
    }
  }

  Instant now = Instant::from_ns(1'000'000'000);

 private:
  static std::unique_ptr<dataplane::Port> open(const config::PortConfig& port, Server server) {
    if (server == Server::own) return std::make_unique<dataplane::Port>(port);
    std::uint16_t ethdev = 0;
    const std::string device = dataplane::parse_devargs(port.devargs).device;
    if (rte_dev_probe(port.devargs.c_str()) != 0 ||
        rte_eth_dev_get_port_by_name(device.c_str(), &ethdev) != 0)
      throw std::runtime_error("DPDK's driver opens no memif");
    return std::make_unique<dataplane::Port>(port, ethdev);
  }
  void connect(const std::string& socket, std::uint32_t id) {
    rings_.push_back(std::make_unique<worker::MemifRings>());
    controls_.push_back(
        std::make_unique<worker::MemifControl>(socket, id, *rings_.back(), Duration::seconds(60)));
    while (!ports_.back()->poll_link()) sched_yield();
  }

  dataplane::FramePool pool_;
  std::vector<std::unique_ptr<dataplane::Port>> ports_;
  std::vector<std::unique_ptr<worker::MemifRings>> rings_;
  std::vector<std::unique_ptr<worker::MemifControl>> controls_;
  std::vector<std::shared_ptr<const worker::SharedResults>> shared_;
  std::optional<dataplane::PacketLoop> loop_;
};

class ClientSink final : public loadgen::FrameSink {
 public:
  ClientSink(worker::MemifRings& rings, bool unchecked) : rings_(rings), unchecked_(unchecked) {}
  [[nodiscard]] bool roomy() const override { return rings_.tx_room() > 0; }
  std::span<std::byte> frame() override { return rings_.tx_frame(); }
  void commit(std::size_t bytes) override {
    constexpr std::size_t kChecksumAt = wire::kUdpPayloadOffset - 2;
    if (unchecked_) std::memset(rings_.tx_frame().data() + kChecksumAt, 0, 2);
    rings_.tx_commit(bytes);
  }

 private:
  worker::MemifRings& rings_;
  bool unchecked_;
};

config::SwitchConfig job_config(std::uint32_t chunk_bytes) {
  config::SwitchConfig config = dataplane::test_config(kWorkers);
  for (auto& port : config.ports) port.mtu = chunk_bytes + 200;
  config::JobConfig job;
  job.id = kJob;
  job.workers = kWorkers;
  job.window = kWindow;
  job.chunk_bytes = chunk_bytes;
  config.jobs = {job};
  return config;
}

class HostJob {
 public:
  HostJob(std::uint32_t chunk_bytes, Server server)
      : chunk_bytes_(chunk_bytes),
        switch_(job_config(chunk_bytes), server),
        pattern_(wire::DType::float32, kJob, kWorkers, chunk_bytes),
        scratch_(std::size_t{kWindow} * chunk_bytes) {
    const config::SwitchConfig config = job_config(chunk_bytes);
    for (std::uint32_t rank = 0; rank < kWorkers; ++rank) {
      loadgen::PlayerOptions o;
      o.session.job = kJob;
      o.session.rank = rank;
      o.session.size = kWorkers;
      o.session.nonce = rank + 1;
      o.session.max_datagram_bytes = chunk_bytes + 200;
      o.own_ipv4 = 0x0A500001 + rank;
      o.own_mac = worker::worker_mac(o.own_ipv4);
      o.switch_ipv4 = config.ipv4;
      o.switch_mac = config::derived_mac(config.ipv4);
      o.base_port = config.udp_base_port;
      o.chunk_bytes = chunk_bytes;
      o.op_chunks = kWindow;
      o.open_ops = 1;
      o.scratch = scratch_;
      players_.push_back(std::make_unique<loadgen::Player>(o, pattern_, switch_.now));
    }
  }

  bool join() {
    for (int i = 0; i < kMostTurns; ++i) {
      if (std::ranges::all_of(players_, [](const auto& player) {
            return player->state() == worker::SessionState::running;
          }))
        return await_results();
      send();
      switch_.turn();
      take();
      switch_.now = switch_.now + Duration::ms(1);
    }
    return false;
  }
  // The switch's thread answers clients.
  bool await_results() {
    if (!switch_.unchecked()) return true;
    for (int i = 0; i < 1'000'000; ++i) {
      bool mapped = true;
      for (std::size_t rank = 0; rank < kWorkers; ++rank)
        mapped = switch_.results(rank) != nullptr && mapped;
      if (mapped && switch_.reads_results()) return true;
      sched_yield();
    }
    return false;
  }
  void fill() {
    expected_ += kWindow;
    switch_.now = switch_.now + Duration::us(100);
    for (const auto& player : players_)
      if (player->can_issue()) player->issue(switch_.now);
    send();
  }
  std::size_t turn() {
    switch_.turn();
    return std::size_t{kWorkers} * kWindow * chunk_bytes_;
  }
  bool take() {
    bool right = true;
    for (std::size_t rank = 0; rank < players_.size(); ++rank) {
      worker::MemifRings& rings = switch_.client(rank);
      std::span<const std::byte> frame;
      while (rings.rx_next(frame) == worker::MemifRings::Rx::frame) hand(rank, frame);
      rings.rx_release();
      const loadgen::PlayerCounts& counts = players_[rank]->counts();
      right = right && !rings.broken() && counts.verified == expected_ && counts.wrong == 0;
    }
    return right;
  }

 private:
  void send() {
    for (std::size_t rank = 0; rank < players_.size(); ++rank) {
      ClientSink sink(switch_.client(rank), switch_.unchecked());
      players_[rank]->poll(switch_.now, sink);
      switch_.client(rank).tx_flush();
    }
  }
  void hand(std::size_t rank, std::span<const std::byte> frame) {
    const auto eth = wire::parse_ethernet(frame);
    const auto* view = std::get_if<wire::EthernetView>(&eth);
    if (view == nullptr) return;
    if (view->ether_type == worker::memif::kEtherTypeResult) return read_result(rank, *view);
    if (view->ether_type != wire::kEtherTypeIpv4) return;
    const auto ip = wire::parse_udp4(view->payload);
    const auto* found = std::get_if<std::optional<wire::Udp4View>>(&ip);
    if (found == nullptr || !*found) return;
    wire::Udp4View udp = **found;
    udp.checksum_checked = udp.checksum == 0 && switch_.unchecked();
    wire::Packet packet;
    if (wire::parse(udp.payload, packet) == DropReason::none &&
        wire::check_integrity(udp, packet) == DropReason::none)
      players_[rank]->on_packet(packet, switch_.now);
  }
  void read_result(std::size_t rank, const wire::EthernetView& frame) {
    worker::memif::ResultReference at{};
    std::memcpy(&at, frame.payload.data(), sizeof at);
    const auto bytes = switch_.results(rank)->read(at, result_);
    wire::Packet packet;
    if (bytes && wire::parse(*bytes, packet) == DropReason::none)
      players_[rank]->on_packet(packet, switch_.now);
  }

  std::uint32_t chunk_bytes_;
  HostSwitch switch_;
  loadgen::Pattern pattern_;
  std::vector<std::byte> scratch_;
  std::vector<std::byte> result_;
  std::vector<std::unique_ptr<loadgen::Player>> players_;
  std::uint64_t expected_ = 0;
};

// Two stations, one behind each port.
class HostFrames {
 public:
  HostFrames(std::size_t bytes, Server server)
      : switch_(dataplane::test_config(2), server), bytes_(bytes) {}

  void fill() {
    ++round_;
    switch_.now = switch_.now + Duration::us(100);
    for (std::size_t port = 0; port < 2; ++port) {
      worker::MemifRings& rings = switch_.client(port);
      for (std::size_t i = 0; i < kFrames; ++i) {
        write(rings.tx_frame().first(bytes_), port, i);
        rings.tx_commit(bytes_);
      }
      rings.tx_flush();
    }
  }
  std::size_t turn() {
    switch_.turn();
    return 2 * kFrames * bytes_;
  }
  bool take() {
    bool right = true;
    std::vector<std::byte> expected(bytes_);
    for (std::size_t port = 0; port < 2; ++port) {
      worker::MemifRings& rings = switch_.client(port);
      std::size_t count = 0;
      std::span<const std::byte> frame;
      for (; rings.rx_next(frame) == worker::MemifRings::Rx::frame; ++count) {
        write(expected, port ^ 1, count);
        right = right && std::ranges::equal(frame, expected);
      }
      rings.rx_release();
      right = right && count == kFrames;
    }
    return right;
  }

 private:
  static constexpr std::size_t kFrames = 64;  // a round, each way

  void write(std::span<std::byte> frame, std::size_t port, std::size_t number) const {
    std::memset(frame.data(), static_cast<int>((round_ + number) & 0xFF), frame.size());
    for (const std::size_t at : {std::size_t{0}, std::size_t{6}})
      std::memset(frame.data() + at, 0, 6);
    frame[0] = frame[6] = std::byte{2};
    frame[5] = static_cast<std::byte>(port ^ 1);
    frame[11] = static_cast<std::byte>(port);
    frame[12] = std::byte{0x88};
    frame[13] = std::byte{0xB5};
  }

  HostSwitch switch_;
  std::size_t bytes_;
  std::uint64_t round_ = 0;
};

template <typename Work>
void compare(const Options& options, Work& own, Work& driver, Row row, Report& report) {
  const auto side = [](const char* name, Work& work) {
    return Side{name, [&] { work.fill(); }, [&] { return work.turn(); },
                [&] { return work.take(); }};
  };
  row.suite = "host";
  const Side reference = side("DPDK's net_memif", driver);
  measure(options, side("own server", own), &reference, row, kTimesTheRounds);
  report.add(row);
}

void run_contributions(const Options& options, std::uint32_t chunk_bytes, Report& report) {
  HostJob own(chunk_bytes, Server::own);
  HostJob driver(chunk_bytes, Server::driver);
  Row row;
  row.case_name =
      std::to_string(chunk_bytes / 1024) + " KiB float32, 8 workers on memif ports, one core";
  row.metric = "verified contributions";
  if (!own.join() || !driver.join()) return report.add(row);  // not verified
  compare(options, own, driver, row, report);
}

void run_frames(const Options& options, std::size_t bytes, Report& report) {
  HostFrames own(bytes, Server::own);
  HostFrames driver(bytes, Server::driver);
  for (HostFrames* const frames : {&own, &driver})  // addresses are learnt
    for (int i = 0; i < 2; ++i) {
      frames->fill();
      frames->turn();
      frames->take();
    }
  Row row;
  row.case_name = std::to_string(bytes) + " B on two memif ports, one core";
  row.metric = "forwarded frames (bar: ratio 0.95)";
  compare(options, own, driver, row, report);
}

}  // namespace
}  // namespace tributary::bench

int main(int argc, char** argv) {
  using namespace tributary::bench;
  const Options options = parse_options(argc, argv, "memif ports, beside DPDK's driver");
  Report report(options);
  tributary::dataplane::start_test_eal();
  for (const std::uint32_t bytes : {1024u, 8192u}) run_contributions(options, bytes, report);
  for (const std::size_t bytes : {64u, 256u, 1024u, 1500u}) run_frames(options, bytes, report);
  return report.exit_code();
}
