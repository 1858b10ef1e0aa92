// Suite `ring`: throughput of a switch's whole packet loop on one core, when ports cost nothing.
//
// The workers of a job fill in-process ring ports (net_ring) with the contributions of one window,
// in the order of the library's own protocol engine; then the loop turns until every result has
// left. Only the turning is timed. Afterwards each worker takes the results, and compares every
// element with the sum that it knows. The reference is memcpy of the same payloads, in frames of
// the same pool that were filled in the same way, to as many places as hold sums and results.
// Buffers lie on hugepages, as a switch's do that is asked for speed, where the kernel gives them.
// What frames hold is in the last-level cache, as another core or a device has put it there, or in
// memory, as from a device that writes there; what the driver notes of a frame is in the cache.
#include <rte_mbuf.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "bench/harness.h"
#include "bench/huge_pages.h"
#include "bench/ring_forward.h"
#include "bench/ring_stages.h"
#include "core/wire/integrity.h"
#include "telemetry/wire/int_md.h"
#include "tests/dataplane/ring_switch.h"
#include "tools/loadgen/player.h"
#include "worker/transport/memif_address.h"

namespace tributary::bench {
namespace {

constexpr std::uint32_t kJob = 1;
constexpr std::uint32_t kWindow = 128;  // chunks of an op: a round sums one window
constexpr std::uint32_t kBurst = 32;    // frames that the loop takes from a port at a time
constexpr int kMostTurns = 1'000;
constexpr std::size_t kTimesTheRounds = 20;  // one of them takes a tenth of a millisecond

struct Load {
  std::uint32_t workers = 8;
  std::uint32_t chunk_bytes = 1024;
  const char* name = "";
  const char* bars = "";
  bool device_checks = false;  // frames come as from hardware that has checked their checksums
  bool from_memory = false;    // else the last-level cache has them
  std::uint32_t sampled = 0;   // in-band telemetry of one packet in so many; 0: off
  bool trusted = false;        // metadata leaves with the results
};

// Flushes the contents of the pool's frames, but not their metadata, which a driver has just
// written.
void flush_frames(rte_mempool* pool) {
  const auto flush = [](rte_mempool*, void*, void* object, unsigned) {
    const auto* const frame = static_cast<const rte_mbuf*>(object);
    flush_from_caches({rte_pktmbuf_mtod(frame, const std::byte*), frame->data_len});
  };
  rte_mempool_obj_iter(pool, flush, nullptr);
}

config::SwitchConfig config_of(const Load& load) {
  config::SwitchConfig config = dataplane::test_config(load.workers);
  config.memory.megabytes = 40;
  for (auto& port : config.ports) port.mtu = load.chunk_bytes + 200;
  config::JobConfig job;
  job.id = kJob;
  job.workers = load.workers;
  job.window = kWindow;
  job.chunk_bytes = load.chunk_bytes;
  if (load.sampled != 0) {
    job.telemetry = {.latency = true, .bandwidth = true, .every = load.sampled};
    config.telemetry.node_id = 1;
    config.telemetry.probe = Duration();
    for (const auto& port : config.ports)
      config.telemetry.ports.push_back({port.name, load.trusted, 100'000});
  }
  config.jobs = {job};
  return config;
}

// Puts a player's frames into a port's ring.
class RingSink final : public loadgen::FrameSink {
 public:
  RingSink(dataplane::RingSwitch& ring, std::size_t port) : ring_(ring), port_(port) {}
  [[nodiscard]] bool roomy() const override { return true; }
  std::span<std::byte> frame() override { return frame_; }
  void commit(std::size_t bytes) override { ring_.inject(port_, std::span(frame_).first(bytes)); }

 private:
  dataplane::RingSwitch& ring_;
  std::size_t port_;
  std::vector<std::byte> frame_ = std::vector<std::byte>(10'000);
};

class RingJob {
 public:
  explicit RingJob(const Load& load)
      : load_(load),
        ring_(config_of(load), config::Machine{}, load.device_checks),
        pattern_(wire::DType::float32, kJob, load.workers, load.chunk_bytes),
        scratch_(std::size_t{kWindow} * load.chunk_bytes) {
    const config::SwitchConfig& config = ring_.config();
    for (std::uint32_t rank = 0; rank < load.workers; ++rank) {
      loadgen::PlayerOptions o;
      o.session.job = kJob;
      o.session.rank = rank;
      o.session.size = load.workers;
      o.session.nonce = rank + 1;
      o.session.max_datagram_bytes = load.chunk_bytes + 200;
      o.own_ipv4 = 0x0A500001 + rank;
      o.own_mac = worker::worker_mac(o.own_ipv4);
      o.switch_ipv4 = config.ipv4;
      o.switch_mac = config::derived_mac(config.ipv4);
      o.base_port = config.udp_base_port;
      o.chunk_bytes = load.chunk_bytes;
      o.op_chunks = kWindow;
      o.open_ops = 1;
      o.scratch = scratch_;
      players_.push_back(std::make_unique<loadgen::Player>(o, pattern_, ring_.now));
    }
  }

  [[nodiscard]] const dataplane::PacketLoop& loop() { return ring_.packet_loop(); }
  [[nodiscard]] rte_mempool* pool() const { return ring_.pool(); }
  // What a control thread would report, taken away; returns how much it was.
  std::size_t take_reports() {
    std::size_t taken = 0;
    dataplane::ReportRecord record;
    if (auto* const telemetry = ring_.packet_loop().telemetry())
      while (telemetry->ring().pop(record)) ++taken;
    return taken;
  }

  bool join() {
    for (int i = 0; i < kMostTurns; ++i) {
      bool joined = true;
      for (const auto& player : players_)
        joined = joined && player->state() == worker::SessionState::running;
      if (joined) return true;
      send();
      turn();
      take();
      ring_.now = ring_.now + Duration::ms(1);
    }
    return false;
  }

  // One window of contributions of every rank, into the rings.
  void fill() {
    expected_ += kWindow;
    ring_.now = ring_.now + Duration::us(100);
    for (const auto& player : players_)
      if (player->can_issue()) player->issue(ring_.now);
    send();
  }
  std::size_t turn() {
    int idle = 0;
    for (int i = 0; i < kMostTurns && idle < 2; ++i) {
      ring_.now = ring_.now + Duration::us(1);
      idle = ring_.turn() == 0 ? idle + 1 : 0;
    }
    return std::size_t{load_.workers} * kWindow * load_.chunk_bytes;
  }
  // Hands out what the switch has sent; whether every rank has every result so far, and right.
  bool take() {
    bool right = true;
    for (std::size_t rank = 0; rank < players_.size(); ++rank) {
      for (rte_mbuf* frame : ring_.sent_buffers(rank)) {
        hand(*players_[rank], without_metadata(frame));
        rte_pktmbuf_free(frame);
      }
      const loadgen::PlayerCounts& counts = players_[rank]->counts();
      right = right && counts.verified == expected_ && counts.wrong == 0;
    }
    return right;
  }

 private:
  void send() {
    for (std::size_t rank = 0; rank < players_.size(); ++rank) {
      RingSink sink(ring_, rank);
      players_[rank]->poll(ring_.now, sink);
    }
  }
  // As the next switch would do.
  [[nodiscard]] std::span<const std::byte> without_metadata(rte_mbuf* frame) const {
    const std::span<std::byte> bytes(rte_pktmbuf_mtod(frame, std::byte*), frame->data_len);
    if (!load_.trusted) return bytes;
    telemetry::Frame view{bytes, bytes.size(), bytes.size()};
    telemetry::Taken taken;
    telemetry::IntView stack;
    telemetry::strip_int(view, {}, taken, stack);
    return bytes.first(view.length);
  }
  void hand(loadgen::Player& player, std::span<const std::byte> frame) const {
    const auto eth = wire::parse_ethernet(frame);
    const auto* view = std::get_if<wire::EthernetView>(&eth);
    if (view == nullptr || view->ether_type != wire::kEtherTypeIpv4) return;
    const auto ip = wire::parse_udp4(view->payload);
    const auto* udp = std::get_if<std::optional<wire::Udp4View>>(&ip);
    wire::Packet packet;
    if (udp != nullptr && *udp && wire::parse((*udp)->payload, packet) == DropReason::none &&
        wire::check_integrity(**udp, packet) == DropReason::none)
      player.on_packet(packet, ring_.now);
  }

  Load load_;
  dataplane::RingSwitch ring_;
  loadgen::Pattern pattern_;
  std::vector<std::byte> scratch_;
  std::vector<std::unique_ptr<loadgen::Player>> players_;
  std::uint64_t expected_ = 0;
};

// The reference: memcpy of the same frames, in buffers of the same pool, filled in the same way and
// order, to as many places as the engine has buffers for sums and results of the window.
class Copies {
 public:
  Copies(const Load& load, rte_mempool* pool)
      : load_(load),
        pool_(pool),
        frame_(kPayloadOffset + load.chunk_bytes),
        to_(std::size_t{2} * kWindow * load.chunk_bytes) {}
  void prepare() {
    first_place_ = first_place_ == 0 ? kWindow : 0;
    std::memset(frame_.data(), ++fill_, frame_.size());
    for (std::size_t i = 0; i < std::size_t{load_.workers} * kWindow; ++i) {
      frames_.push_back(dataplane::make_frame(pool_, frame_));
      from_.push_back(rte_pktmbuf_mtod_offset(frames_.back(), const std::byte*, kPayloadOffset));
    }
  }
  std::size_t run() {
    const std::size_t bytes = load_.chunk_bytes;
    for (std::size_t first = 0; first < kWindow; first += kBurst)
      for (std::size_t rank = 0; rank < load_.workers; ++rank)
        for (std::size_t chunk = first; chunk < first + kBurst; ++chunk) {
          std::memcpy(place(chunk), from_[rank * kWindow + chunk], bytes);
          __asm__ volatile("" ::: "memory");  // every copy counts, not only the last
        }
    return std::size_t{load_.workers} * kWindow * bytes;
  }
  bool verify() {
    for (rte_mbuf* const frame : frames_) rte_pktmbuf_free(frame);
    frames_.clear();
    from_.clear();
    const std::byte* const first = place(0);
    return std::all_of(first, first + std::size_t{kWindow} * load_.chunk_bytes,
                       [&](std::byte b) { return b == static_cast<std::byte>(fill_); });
  }

 private:
  static constexpr std::size_t kPayloadOffset = wire::kUdpPayloadOffset + wire::kHeaderBytes;
  [[nodiscard]] std::byte* place(std::size_t chunk) const {
    return to_.bytes().data() + (first_place_ + chunk) * load_.chunk_bytes;
  }

  Load load_;
  rte_mempool* pool_;
  std::vector<std::byte> frame_;
  std::vector<rte_mbuf*> frames_;
  std::vector<const std::byte*> from_;
  Buffer to_;
  std::size_t first_place_ = 0;  // windows take turns, as a result is kept while the next is summed
  std::uint8_t fill_ = 0;
};

void run(const Options& options, const Load& load, const char* pages, Report& report) {
  RingJob job(load);
  Copies copies(load, job.pool());
  Row row;
  row.suite = "ring";
  row.case_name = std::string(load.name) + " float32, " + std::to_string(load.workers) +
                  " workers on ring ports, one core, " + pages +
                  (load.device_checks ? ", checksums found right by the device" : "") +
                  (load.from_memory ? ", from memory" : ", from LLC");
  row.metric = std::string("verified contributions") + load.bars;
  if (!job.join()) {
    report.add(row);  // not verified
    return;
  }
  RingStages stages(job.loop());
  const Side subject{"switch",
                     [&] {
                       job.fill();
                       if (load.from_memory) flush_frames(job.pool());
                       stages.begin();
                     },
                     [&] { return job.turn(); },
                     [&] {
                       stages.end(std::size_t{load.workers} * kWindow);
                       return job.take();
                     }};
  const Side reference{"memcpy",
                       [&] {
                         copies.prepare();
                         if (load.from_memory) flush_frames(job.pool());
                       },
                       [&] { return copies.run(); }, [&] { return copies.verify(); }};
  measure(options, subject, &reference, row, kTimesTheRounds);
  report.add(row);
  stages.add_to(report, row);
}

// C5: the same sums with in-band telemetry and without.
void run_telemetry(const Options& options, std::uint32_t sampled, bool trusted, Report& report) {
  Load load{8, 1024, "1 KiB", ""};
  RingJob without(load);
  load.sampled = sampled;
  load.trusted = trusted;
  RingJob with(load);
  Row row;
  row.suite = "ring";
  row.case_name = "1 KiB float32, 8 workers on ring ports, one core, telemetry of 1 in " +
                  std::to_string(sampled) + (trusted ? ", to switches" : ", to hosts");
  row.metric = sampled == 1 ? "verified contributions (bar: ratio 0.8)"
                            : "verified contributions (bar: ratio 0.97)";
  if (!with.join() || !without.join()) return report.add(row);  // not verified
  std::size_t reports = 0;
  const Side subject{"with telemetry", [&] { with.fill(); }, [&] { return with.turn(); },
                     [&] {
                       reports += with.take_reports();
                       return with.take();
                     }};
  const Side reference{"without", [&] { without.fill(); }, [&] { return without.turn(); },
                       [&] { return without.take(); }};
  measure(options, subject, &reference, row, kTimesTheRounds);
  row.verified = row.verified && (trusted || reports != 0);
  report.add(row);
}

}  // namespace
}  // namespace tributary::bench

int main(int argc, char** argv) {
  using namespace tributary::bench;
  const Options options = parse_options(argc, argv, "the packet loop on ring ports");
  Report report(options);
  const HugePages huge(96);  // what start_test_eal() maps
  const char* const pages = huge.reserved() ? "hugepages" : "no hugepages";
  tributary::dataplane::start_test_eal(huge.reserved());
  for (const bool device_checks : {false, true}) {
    for (const bool from_memory : {false, true}) {
      if (from_memory && !flush_from_caches(std::as_bytes(std::span(pages, 1)))) continue;
      run(options, {8, 1024, "1 KiB", " (bars: 8 GB/s, ratio 0.6)", device_checks, from_memory},
          pages, report);
      run(options, {4, 8192, "8 KiB", "", device_checks, from_memory}, pages, report);
    }
  }
  for (const std::uint32_t sampled : {64u, 1u})
    for (const bool trusted : {false, true}) run_telemetry(options, sampled, trusted, report);
  run_ring_forward(options, report);
  return report.exit_code();
}
