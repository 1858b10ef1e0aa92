// Suite `rdma`: the packet loop with ranks that write on UC queue pairs, beside the same loop with
// ranks by UDP.
//
// Each side is a switch of its own on in-process ring ports. A round puts one op of every rank into
// the rings, in frames made beforehand, turns the loop until nothing is left, and compares every
// element of every rank's results. Only the turning is timed. Both sides check each packet and seal
// each result in software: UDP's checksum there, the ICRC here. The last rows are what these two
// cost alone.
#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "bench/harness.h"
#include "bench/huge_pages.h"
#include "core/net/checksum.h"
#include "core/net/roce.h"
#include "tests/dataplane/rdma/connected/rc_rank.h"

namespace tributary::bench {
namespace {

using dataplane::Bytes;
using Values = std::vector<std::int32_t>;

constexpr std::uint32_t kJob = 1;
constexpr std::uint32_t kWindow = 128;  // chunks of an op
constexpr std::size_t kTimesTheRounds = 20;
constexpr int kMostTurns = 1'000;

struct Load {
  const char* name;
  const char* bar;
  std::uint32_t workers;
  std::uint32_t packet_bytes;  // of payload, both ways by UDP
  std::uint32_t chunk_bytes;   // of the job on UC: a result each
};

// A switch with one job of int32 sums, and what both kinds of ranks have in common.
class Job {
 public:
  Job(const Load& load, std::uint32_t chunk_bytes, bool rdma)
      : workers_(load.workers), op_bytes_(kWindow * chunk_bytes), ring_(config_of(load, rdma)) {
    for (std::uint32_t rank = 0; rank < workers_; ++rank)
      ranks_.emplace_back(ring_.config(), kJob, rank, static_cast<std::uint16_t>(workers_));
  }
  virtual ~Job() = default;
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  virtual bool join() = 0;
  void fill() {
    ring_.now = ring_.now + Duration::us(100);
    for (std::uint32_t rank = 0; rank < workers_; ++rank) inject(rank, data_of(rank));
  }
  std::size_t turn() {
    int idle = 0;
    for (int i = 0; i < kMostTurns && idle < 2; ++i) {
      ring_.now = ring_.now + Duration::us(1);
      idle = ring_.turn() == 0 ? idle + 1 : 0;
    }
    return std::size_t{workers_} * op_bytes_;
  }
  // True if each rank has each chunk of the op once, and every element is right.
  bool take() {
    Values sum(op_bytes_ / sizeof(std::int32_t));
    for (std::uint32_t rank = 0; rank < workers_; ++rank) {
      const Values data = data_of(rank);
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += data[i];
    }
    const auto expected = std::as_bytes(std::span(sum));
    bool right = true;
    for (std::uint32_t rank = 0; rank < workers_; ++rank) {
      Bytes got(op_bytes_);
      std::size_t bytes = 0;
      for (const Bytes& frame : ring_.sent(rank)) bytes += take_frame(rank, frame, got);
      right = right && bytes == got.size() && std::ranges::equal(got, expected);
    }
    ++op_;
    return right;
  }

 protected:
  virtual void inject(std::uint32_t rank, const Values& data) = 0;
  // Puts the payload of a result in its place; returns its length. 0: the frame is none.
  virtual std::size_t take_frame(std::uint32_t rank, const Bytes& frame, Bytes& got) = 0;

  void pass(Duration time) {
    for (Duration passed; passed < time; passed = passed + Duration::ms(1)) {
      ring_.now = ring_.now + Duration::ms(1);
      ring_.turn();
    }
  }
  static std::size_t put(std::span<const std::byte> payload, std::size_t at, Bytes& got) {
    if (at > got.size() || payload.size() > got.size() - at) return 0;
    std::ranges::copy(payload, got.begin() + static_cast<std::ptrdiff_t>(at));
    return payload.size();
  }

  std::uint32_t workers_;
  std::uint32_t op_bytes_;
  std::uint32_t op_ = 0;
  dataplane::RingSwitch ring_;
  std::vector<dataplane::TestWorker> ranks_;

 private:
  static config::SwitchConfig config_of(const Load& load, bool rdma) {
    config::SwitchConfig config = dataplane::test_config(load.workers);
    config.memory.megabytes = 40;
    for (auto& port : config.ports) {
      port.mtu = load.packet_bytes + 200;
      port.rdma = rdma;
    }
    config::JobConfig job;
    job.id = kJob;
    job.workers = load.workers;
    job.window = kWindow * (rdma ? load.packet_bytes / load.chunk_bytes : 1);
    job.chunk_bytes = rdma ? load.chunk_bytes : load.packet_bytes;
    job.rdma = rdma;
    config.jobs = {job};
    return config;
  }
  [[nodiscard]] Values data_of(std::uint32_t rank) const {
    Values data(op_bytes_ / sizeof(std::int32_t));
    for (std::size_t i = 0; i < data.size(); ++i)
      data[i] = static_cast<std::int32_t>(i * (rank + 1) + op_ * 11 + rank);
    return data;
  }
};

class UdpJob final : public Job {
 public:
  explicit UdpJob(const Load& load)
      : Job(load, load.packet_bytes, false), bytes_(load.packet_bytes) {}

  bool join() override {
    for (std::uint32_t rank = 0; rank < workers_; ++rank)
      ring_.inject(rank, ranks_[rank].join(rank + 1));
    pass(Duration::ms(200));
    for (std::uint32_t rank = 0; rank < workers_; ++rank)
      for (const Bytes& frame : ring_.sent(rank)) {
        const auto read = dataplane::read_packet(frame);
        if (read && read->packet.header.type == wire::PacketType::start)
          ranks_[rank].epoch = read->packet.header.epoch;
      }
    return std::ranges::all_of(ranks_, [](const auto& rank) { return rank.epoch != 0; });
  }

 private:
  void inject(std::uint32_t rank, const Values& data) override {
    const auto all = std::as_bytes(std::span(data));
    for (std::uint32_t chunk = 0; chunk < kWindow; ++chunk) {
      wire::Header h = ranks_[rank].header(wire::PacketType::contribution);
      h.flags = chunk + 1 == kWindow ? wire::kFlagLast : 0u;
      h.op = op_;
      h.chunk = chunk;
      h.seq = op_ * kWindow + chunk;
      h.slot = chunk;
      h.covered = 1;
      h.dtype = wire::DType::int32;
      h.element_count = static_cast<std::uint16_t>(bytes_ / sizeof(std::int32_t));
      ring_.inject(rank, frame(rank, h, all.subspan(std::size_t{chunk} * bytes_, bytes_)));
    }
  }
  [[nodiscard]] Bytes frame(std::uint32_t rank, const wire::Header& header,
                            std::span<const std::byte> payload) const {
    const config::SwitchConfig& config = ring_.config();
    const wire::FrameTemplate t{
        .destination = config::derived_mac(config.ipv4),
        .source = ranks_[rank].mac(),
        .vlan_tci = {},
        .endpoints = {ranks_[rank].ipv4(), config.ipv4, 6000, config.udp_base_port}};
    const std::size_t start = wire::frame_header_bytes(t);
    Bytes out(start + wire::kHeaderBytes + payload.size());
    const std::size_t head = wire::serialize(header, {}, std::span(out).subspan(start));
    std::ranges::copy(payload, out.begin() + static_cast<std::ptrdiff_t>(start + head));
    out.resize(wire::write_frame_headers(t, out, head + payload.size()));
    return out;
  }
  std::size_t take_frame(std::uint32_t, const Bytes& frame, Bytes& got) override {
    const auto read = dataplane::read_packet(frame);
    if (!read || read->packet.header.type != wire::PacketType::result) return 0;
    return put(read->packet.payload, std::size_t{read->packet.header.seq % kWindow} * bytes_, got);
  }

  std::uint32_t bytes_;
};

// Each op is one WRITE of kWindow packets, to the only place of the window.
class UcJob final : public Job {
 public:
  explicit UcJob(const Load& load)
      : Job(load, load.packet_bytes, true), bytes_(load.packet_bytes) {}

  bool join() override {
    writers_.reserve(workers_);
    for (std::uint32_t rank = 0; rank < workers_; ++rank) {
      auto& writer = writers_.emplace_back(ranks_[rank], kJob, rank);
      writer.transport = 1;
      writer.mtu_code = bytes_ == 1024 ? 3 : 5;
      writer.request.op_bytes = op_bytes_;
      writer.request.ops = 1;
      writer.qpn += rank;
      ring_.inject(rank, writer.req());
      pass(Duration::ms(2));
      bool granted = false;
      for (const Bytes& frame : ring_.sent(rank)) granted = granted || writer.take_rep(frame);
      if (!granted) return false;
      ring_.inject(rank, writer.to_switch(wire::CmAttribute::rtu));
    }
    pass(Duration::ms(200));
    bool begun = true;
    for (std::uint32_t rank = 0; rank < workers_; ++rank)
      begun = !ring_.sent(rank).empty() && begun;
    return begun;
  }

 private:
  void inject(std::uint32_t rank, const Values& data) override {
    using enum wire::RoceOperation;
    const auto& writer = writers_[rank];
    const auto all = std::as_bytes(std::span(data));
    for (std::uint32_t i = 0; i < kWindow; ++i) {
      const auto operation = i == 0 ? write_first : i + 1 == kWindow ? write_last : write_middle;
      ring_.inject(rank, writer.part(operation, writer.request_psn + op_ * kWindow + i, 0,
                                     op_bytes_, all.subspan(std::size_t{i} * bytes_, bytes_)));
    }
  }
  std::size_t take_frame(std::uint32_t, const Bytes& frame, Bytes& got) override {
    const auto view = dataplane::read_rc(frame);
    if (!view || !view->shape.reth || view->payload.empty()) return 0;
    const std::uint64_t slot = dataplane::RcRank::kRing + std::uint64_t{op_ % 2} * op_bytes_;
    if (view->reth.address < slot) return 0;
    return put(view->payload, view->reth.address - slot, got);
  }

  std::uint32_t bytes_;
  std::vector<dataplane::RcRank> writers_;
};

void run(const Options& options, const Load& load, const char* pages, Report& report) {
  UcJob ours(load);
  UdpJob theirs(load);
  Row row;
  row.suite = "rdma";
  row.case_name = std::string(load.name) + " int32, " + std::to_string(load.workers) +
                  " workers on ring ports, one core, " + pages;
  row.metric = std::string("verified contributions by UC WRITE") + load.bar;
  if (!ours.join() || !theirs.join()) return report.add(row);  // not verified
  const Side subject{"UC", [&] { ours.fill(); }, [&] { return ours.turn(); },
                     [&] { return ours.take(); }};
  const Side reference{"UDP", [&] { theirs.fill(); }, [&] { return theirs.turn(); },
                       [&] { return theirs.take(); }};
  measure(options, subject, &reference, row, kTimesTheRounds);
  report.add(row);
}

// The two checks alone, of packets in the second cache.
void run_checks(const Options& options, std::uint32_t bytes, Report& report) {
  constexpr std::size_t kPackets = 128;
  constexpr int kPasses = 16;
  const std::size_t stride = bytes + 64;  // as much as headers are
  std::vector<std::byte> memory(kPackets * stride, std::byte{0x5A});
  const auto packet = [&](std::size_t i) { return std::span(memory).subspan(i * stride, stride); };
  for (std::size_t i = 0; i < kPackets; ++i) wire::seal_icrc(packet(i));
  const auto sweep = [&](auto check) {
    for (int pass = 0; pass < kPasses; ++pass)
      for (std::size_t i = 0; i < kPackets; ++i) check(packet(i));
    return kPasses * kPackets * stride;
  };
  std::size_t right = 0;
  std::uint32_t sums = 0;
  const Side subject{"ICRC", [&] { right = 0; },
                     [&] { return sweep([&](auto ip) { right += wire::icrc_ok(ip) ? 1u : 0u; }); },
                     [&] { return right == kPasses * kPackets; }};
  const Side reference{"UDP checksum", nullptr,
                       [&] {
                         return sweep([&](auto ip) {
                           sums += wire::ones_complement_sum(ip);
                           __asm__ volatile("" : "+r"(sums));
                         });
                       },
                       nullptr};
  Row row;
  row.suite = "rdma";
  row.case_name = std::to_string(bytes) + " B";
  row.metric = "ICRC checked";
  measure(options, subject, &reference, row);
  report.add(row);
}

}  // namespace
}  // namespace tributary::bench

int main(int argc, char** argv) {
  using namespace tributary::bench;
  const Options options = parse_options(argc, argv, "UC WRITEs beside UDP in the packet loop");
  Report report(options);
  const HugePages huge(96);  // what start_test_eal() maps
  const char* const pages = huge.reserved() ? "hugepages" : "no hugepages";
  tributary::dataplane::start_test_eal(huge.reserved());
  constexpr const char* kBar = " (bar: ratio 0.8)";
  for (const std::uint32_t workers : {2u, 8u}) {
    run(options, {"1 KiB", kBar, workers, 1024, 1024}, pages, report);
    run(options, {"4 KiB", kBar, workers, 4096, 4096}, pages, report);
    run(options, {"4 KiB, chunks of 2 KiB,", "", workers, 4096, 2048}, pages, report);
  }
  for (const std::uint32_t bytes : {1024u, 4096u}) run_checks(options, bytes, report);
  return report.exit_code();
}
