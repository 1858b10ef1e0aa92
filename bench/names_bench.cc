// Suite `names`: gets of named data in one switch's engine beside probes of results that it keeps.
//
// Requests are Zipf-distributed (0.99) over more values of 1 KiB than the cache holds, so that
// about nine of ten are hits; a miss goes to the producer and comes back within the same run.
// Probes are spread evenly over as many kept results. Both sides take a parsed packet and write the
// answer's bytes, and count the payload of answers. The hit rate of ARC is set beside LRU's on one
// trace.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "aggregator/engine/engine.h"
#include "aggregator/names/arc.h"
#include "aggregator/names/name_engine.h"
#include "bench/harness.h"
#include "core/digest.h"
#include "core/net/udp_peer.h"
#include "core/prng.h"
#include "dataplane/udp/address_book.h"
#include "tests/aggregator/names/cache_trace.h"

namespace tributary::bench {
namespace {

using wire::PacketType;

constexpr std::uint32_t kJob = 7;
constexpr std::uint32_t kValueBytes = 1024;
constexpr std::uint32_t kKept = 4096;   // segments in the cache, and results
constexpr std::uint32_t kNames = 7800;  // of which the cache then holds what 90 % ask for
constexpr std::size_t kRequests = 1 << 15;

std::vector<std::uint32_t> zipf_trace(std::size_t length, std::uint32_t names, std::uint64_t seed) {
  aggregator::Zipf zipf(names, seed);
  std::vector<std::uint32_t> asked(length);
  for (auto& one : asked) one = zipf.draw();
  return asked;
}

Endpoint host(std::uint32_t n) {
  return wire::UdpPeer(0, static_cast<std::uint16_t>(4000 + n), 0x0A000000u + n, {},
                       {2, 0, 0, 0, 0, 1});
}

// Writes what a front end would; returns the payload bytes.
class Answers {
 public:
  std::size_t write(aggregator::Outbox& outbox) {
    std::size_t bytes = 0;
    for (const aggregator::Outgoing& o : outbox.items()) {
      const std::size_t head = wire::serialize(o.header, o.extension_span(), frame_);
      if (!o.payload.empty()) std::memcpy(frame_.data() + head, o.payload.data(), o.payload.size());
      __asm__ volatile("" : : "r"(frame_.data()) : "memory");
      payload_ = std::span(frame_).subspan(head, o.payload.size());
      bytes += o.payload.size();
    }
    outbox.clear();
    return bytes;
  }
  [[nodiscard]] std::span<const std::byte> payload() const { return payload_; }

 private:
  std::array<std::byte, 4096> frame_{};
  std::span<const std::byte> payload_;
};

class NamedValues {
 public:
  NamedValues() : config_(configuration()), children_(config_.jobs[0]) {
    for (std::uint32_t i = 0; i < kNames; ++i) {
      names_.push_back("/job/7/run=1/tensor/v=" + std::to_string(i) + "/seg=0");
      digests_.push_back(xxh64(value_of(i)));
      put(i);
    }
  }

  // A get, and where it is a miss, the producer's answer. Returns the payload bytes.
  std::size_t get(std::uint32_t i) {
    deliver(PacketType::get, i, host(1));
    if (outbox_.items().empty() || outbox_.items()[0].header.type == PacketType::data)
      return answers_.write(outbox_);
    ++misses_;
    answers_.write(outbox_);
    deliver(PacketType::data, i, host(0));
    return answers_.write(outbox_);
  }
  [[nodiscard]] bool is_value(std::uint32_t i) {
    get(i);
    const auto value = value_of(i);
    return std::equal(value.begin(), value.end(), answers_.payload().begin(),
                      answers_.payload().end());
  }
  [[nodiscard]] std::uint64_t misses() const { return misses_; }

 private:
  static config::SwitchConfig configuration() {
    config::SwitchConfig config;
    config.names.segment_bytes = kValueBytes;
    config.names.megabytes = kKept * kValueBytes >> 20;
    config.names.entries = 2 * kNames;
    config::JobConfig job;
    job.id = kJob;
    job.workers = 2;
    job.chunk_bytes = 2048;
    job.names.enabled = true;
    config.jobs = {job};
    return config;
  }
  std::span<const std::byte> value_of(std::uint32_t i) {
    for (std::size_t at = 0; at < kValueBytes; at += sizeof i)
      std::memcpy(value_.data() + at, &i, sizeof i);
    return value_;
  }
  void put(std::uint32_t i) {
    deliver(PacketType::put, i, host(0));
    outbox_.clear();
  }
  void deliver(PacketType type, std::uint32_t i, const Endpoint& from) {
    std::array<std::byte, wire::kNameExtensionBytes> room;
    wire::ExtensionWriter extensions(room);
    wire::add_name(extensions, names_[i]);
    wire::Packet packet;
    packet.header.type = type;
    packet.header.job = kJob;
    if (type != PacketType::get) {
      packet.payload = value_of(i);
      packet.header.dtype = wire::DType::uint8;
      wire::add_value_info(extensions, {digests_[i], kValueBytes, 1, digests_[i], 0});
    }
    packet.extensions = extensions.bytes();
    const auto rank = static_cast<std::uint16_t>(from == host(0) ? 0 : 1);
    engine_.on_packet(packet, from, {aggregator::NameSender::Kind::worker, rank, &children_}, now_,
                      outbox_);
  }

  config::SwitchConfig config_;
  aggregator::ChildMap children_;
  aggregator::NameEngine engine_{config_, 1};
  aggregator::Outbox outbox_{engine_.outbox_capacity()};
  Answers answers_;
  std::vector<std::string> names_;
  std::vector<std::uint64_t> digests_;  // the producer's work, not the switch's
  std::array<std::byte, kValueBytes> value_{};
  Instant now_ = Instant::from_ns(1);
  std::uint64_t misses_ = 0;
};

class KeptResults {
 public:
  KeptResults() : outbox_(engine_.outbox_capacity()) {
    join();
    std::array<std::uint32_t, kValueBytes / 4> values{};
    for (std::uint32_t seq = 0; seq < kKept; ++seq) {
      values.fill(seq);
      wire::Header h = header(PacketType::contribution, seq);
      h.covered = 1;
      h.dtype = wire::DType::uint32;
      h.element_count = kValueBytes / 4;
      h.flags = wire::kFlagLast;
      engine_.on_packet({h, {}, std::as_bytes(std::span(values))}, host(0), now_, outbox_);
      outbox_.clear();
    }
  }

  std::size_t probe(std::uint32_t seq) {
    engine_.on_packet({header(PacketType::probe, seq), {}, {}}, host(0), now_, outbox_);
    return answers_.write(outbox_);
  }
  [[nodiscard]] bool is_result(std::uint32_t seq) {
    if (probe(seq) != kValueBytes) return false;
    std::uint32_t last = 0;
    std::memcpy(&last, answers_.payload().data() + kValueBytes - sizeof last, sizeof last);
    return last == seq;
  }

 private:
  static config::SwitchConfig configuration() {
    config::SwitchConfig config;
    config.slots = kKept;
    config::JobConfig job;
    job.id = kJob;
    job.workers = 1;
    job.window = kKept;
    job.chunk_bytes = kValueBytes;
    config.jobs = {job};
    return config;
  }
  void join() {
    std::array<std::byte, 16> room;
    wire::ExtensionWriter nonce(room);
    nonce.add_nonce(1);
    wire::Header h = header(PacketType::join, 0);
    h.op = 0;
    engine_.on_packet({h, nonce.bytes(), {}}, host(0), now_, outbox_);
    for (const aggregator::Outgoing& o : outbox_.items())
      if (o.header.type == PacketType::start) epoch_ = o.header.epoch;
    outbox_.clear();
  }
  [[nodiscard]] wire::Header header(PacketType type, std::uint32_t seq) const {
    wire::Header h;
    h.type = type;
    h.job = kJob;
    h.epoch = epoch_;
    h.fan_in = 1;
    h.op = h.seq = seq;
    return h;
  }

  aggregator::Engine engine_{configuration(), dataplane::kUdpAddresses, {}};
  aggregator::Outbox outbox_;
  Answers answers_;
  Instant now_ = Instant::from_ns(1'000'000'000);
  std::uint16_t epoch_ = 0;
};

void add_hit_rates(Report& report) {
  aggregator::Arc arc(kNames, kKept);
  aggregator::Lru lru(kKept);
  double arc_hits = 0;
  double lru_hits = 0;
  const auto asked = zipf_trace(1 << 20, kNames, 3);
  for (const std::uint32_t entry : asked) {
    lru_hits += lru.ask(entry) ? 1 : 0;
    arc_hits += ask(arc, entry) ? 1 : 0;
  }
  Row row;
  row.suite = "names";
  row.case_name = "zipf 0.99 over 7800 names, 4096 kept";
  row.metric = "hit rate";
  row.unit = "%";
  row.value = row.min = row.max = 100 * arc_hits / static_cast<double>(asked.size());
  row.reference = "LRU";
  row.reference_value = 100 * lru_hits / static_cast<double>(asked.size());
  row.ratio = row.value / row.reference_value;
  row.runs = 1;
  row.verified = true;
  report.add(row);
}

int run(int argc, char** argv) {
  const Options options =
      parse_options(argc, argv, "Gets of named data beside probes of kept results (suite names).");
  Report report(options);
  const auto named = std::make_unique<NamedValues>();
  const auto results = std::make_unique<KeptResults>();
  const auto names = zipf_trace(kRequests, kNames, 5);
  Prng random(9);
  std::vector<std::uint32_t> seqs(kRequests);
  for (auto& seq : seqs) seq = random.below(kKept);
  for (const std::uint32_t i : names) named->get(i);  // the cache is warm

  std::uint64_t before = named->misses();
  std::uint64_t asked = 0;
  const Side subject{"gets", nullptr,
                     [&] {
                       std::size_t bytes = 0;
                       for (const std::uint32_t i : names) bytes += named->get(i);
                       asked += names.size();
                       return bytes;
                     },
                     [&] { return named->is_value(names[0]) && named->is_value(kNames - 1); }};
  const Side reference{"probes of kept results", nullptr,
                       [&] {
                         std::size_t bytes = 0;
                         for (const std::uint32_t seq : seqs) bytes += results->probe(seq);
                         return bytes;
                       },
                       [&] { return results->is_result(seqs[0]) && results->is_result(1); }};
  Row row;
  row.suite = "names";
  row.metric = "answers";
  row.case_name = "gets of 1 KiB, zipf 0.99";
  measure(options, subject, &reference, row);
  report.add(row);
  std::fprintf(
      stderr, "names: %.1f %% of the gets were hits\n",
      100 - 100 * static_cast<double>(named->misses() - before) / static_cast<double>(asked));
  add_hit_rates(report);
  return report.exit_code();
}

}  // namespace
}  // namespace tributary::bench

int main(int argc, char** argv) {
  return tributary::bench::run(argc, argv);
}
