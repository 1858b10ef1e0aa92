// Plain frames for suites `forward` and `switch`: as fast as possible, or at a rate, through a
// device under test that returns each through another port.
//
//   forward_load --port DEVARGS --port DEVARGS ... [--bytes N,N...] [--seconds S]
//                [--rate R,R...] [--queues N]
//
// 1,024 stations with random addresses are shared out over the ports; port i sends to those of its
// neighbour (0 and 1, 2 and 3, ...), where testpmd returns a frame, too. All are announced first,
// so that a switch need not flood. Frames lie ready and are sent again and again; every one that
// comes back is checked for its mark, its length and its port. One line of JSON a size: what came
// back in a second, and how long it was on its way.
#include <rte_mbuf.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/net/frame.h"
#include "core/prng.h"
#include "dataplane/host/tsc_clock.h"
#include "tools/cli/app.h"
#include "tools/impair/port.h"
#include "tools/loadgen/environment.h"
#include "tools/loadgen/histogram.h"

namespace tributary::bench {
namespace {

constexpr std::uint32_t kStations = 1024;
constexpr std::uint16_t kBurst = 32;
constexpr std::uint32_t kMark = 0x7472696B;
constexpr std::size_t kAddresses = 2 * sizeof(wire::MacAddress);
constexpr Duration kWarmUp = Duration::seconds(1);
constexpr Duration kLinkLimit = Duration::seconds(20);
constexpr Duration kStragglers = Duration::ms(20);

struct Options {
  std::vector<std::string> ports;
  std::vector<std::size_t> bytes = {64, 256, 1024, 1500};
  double seconds = 1;
  std::vector<double> rates;  // by size, frames a second of all ports; none: as many as possible
  std::uint16_t queues = 1;   // of each port, on which frames may come back
};

// Behind the addresses and the type.
struct Mark {
  std::uint32_t mark = kMark;
  std::uint32_t bytes = 0;
  std::uint64_t port = 0;    // where it is to arrive
  std::int64_t sent_ns = 0;  // 0: an announcement, which arrives everywhere
};

struct Tally {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  std::uint64_t wrong = 0;
  loadgen::Histogram times;
};

std::size_t buffer_bytes(const Options& options) {
  std::size_t bytes = 2048;  // what a memif's buffer is by default
  for (const std::size_t size : options.bytes) bytes = std::max(bytes, size);
  return bytes;
}

class Load {
 public:
  explicit Load(const Options& options)
      : options_(options),
        pool_(loadgen::start({"forward_load", kBuffers, buffer_bytes(options), false, "error"})) {
    Prng random(20240817);
    for (std::uint32_t i = 0; i < kStations; ++i) {
      wire::MacAddress mac;
      for (auto& byte : mac) byte = static_cast<std::uint8_t>(random.below(256));
      mac[0] = 0x02;
      macs_.push_back(mac);
    }
    for (const std::string& devargs : options.ports)
      ports_.push_back(impair::open_port(devargs, pool_, options.queues));
  }

  void run() {
    wait_for_links();
    for (std::size_t i = 0; i < options_.bytes.size(); ++i) {
      rate_ = options_.rates.empty() ? 0 : options_.rates[std::min(i, options_.rates.size() - 1)];
      measure(options_.bytes[i]);
    }
    for (const impair::Port& port : ports_) impair::close_port(port);
  }

 private:
  static constexpr std::uint32_t kBuffers = 16 * 1024;

  void wait_for_links() {
    const Instant limit = clock_.now() + kLinkLimit;
    for (const impair::Port& port : ports_) {
      while (!port.link_up()) {
        if (clock_.now() >= limit) throw std::runtime_error("a port has no link");
        const timespec nap{.tv_sec = 0, .tv_nsec = 1'000'000};
        nanosleep(&nap, nullptr);
      }
    }
  }
  [[nodiscard]] std::size_t neighbour(std::size_t port) const { return port ^ 1; }
  // The k-th station behind a port.
  [[nodiscard]] const wire::MacAddress& station(std::size_t port, std::size_t k) const {
    return macs_[(k * ports_.size() + port) % kStations];
  }
  rte_mbuf* make(const wire::MacAddress& to, const wire::MacAddress& from, std::size_t bytes,
                 std::size_t port) {
    rte_mbuf* m = rte_pktmbuf_alloc(pool_);
    char* const room =
        m == nullptr ? nullptr : rte_pktmbuf_append(m, static_cast<std::uint16_t>(bytes));
    if (room == nullptr)
      throw std::runtime_error("no buffer for " + std::to_string(bytes) + " bytes");
    auto* const frame = reinterpret_cast<std::byte*>(room);
    std::memset(frame, 0x5A, bytes);
    std::memcpy(frame, to.data(), to.size());
    std::memcpy(frame + to.size(), from.data(), from.size());
    frame[kAddresses] = std::byte{0x88};
    frame[kAddresses + 1] = std::byte{0xB5};
    Mark mark;
    mark.bytes = static_cast<std::uint32_t>(bytes);
    mark.port = port;
    std::memcpy(frame + wire::kEthernetBytes, &mark, sizeof mark);
    return m;
  }
  void announce() {
    constexpr wire::MacAddress kEverybody = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};
    for (std::size_t port = 0; port < ports_.size(); ++port) {
      for (std::size_t k = 0; k < kStations / ports_.size(); ++k) {
        rte_mbuf* frame = make(kEverybody, station(port, k), 64, port);
        while (ports_[port].transmit(&frame, 1) == 0) drain();
        drain();
      }
    }
  }
  void drain() {
    Tally ignored;
    for (std::size_t port = 0; port < ports_.size(); ++port) receive(port, 0, ignored);
  }
  void build(std::size_t bytes) {
    frames_.assign(ports_.size(), {});
    for (std::size_t port = 0; port < ports_.size(); ++port)
      for (std::size_t k = 0; k < kStations / ports_.size(); ++k)
        frames_[port].push_back(
            make(station(neighbour(port), (k * 7) % (kStations / ports_.size())), station(port, k),
                 bytes, neighbour(port)));
    next_.assign(ports_.size(), 0);
  }
  void drop_frames() {
    for (auto& list : frames_)
      for (rte_mbuf* m : list) rte_pktmbuf_free(m);
  }

  void measure(std::size_t bytes) {
    announce();
    build(bytes);
    std::uint64_t wrong = turn_until(clock_.now() + kWarmUp, bytes, true).wrong;
    const Instant begin = clock_.now();
    const Tally tally = turn_until(
        begin + Duration::ns(static_cast<std::int64_t>(options_.seconds * 1e9)), bytes, true);
    const double seconds = (clock_.now() - begin).to_seconds();
    wrong += tally.wrong + turn_until(clock_.now() + kStragglers, bytes, false).wrong;
    drop_frames();
    const auto us = [](Duration d) { return static_cast<double>(d.to_ns()) * 1e-3; };
    std::printf(
        "{\"bytes\": %zu, \"seconds\": %.6f, \"sent\": %llu, \"received\": %llu, \"wrong\": %llu, "
        "\"received_per_s\": %.1f, \"p50_us\": %.2f, \"p99_us\": %.2f, \"p999_us\": %.2f}\n",
        bytes, seconds, static_cast<unsigned long long>(tally.sent),
        static_cast<unsigned long long>(tally.received), static_cast<unsigned long long>(wrong),
        static_cast<double>(tally.received) / seconds, us(tally.times.percentile(0.5)),
        us(tally.times.percentile(0.99)), us(tally.times.percentile(0.999)));
    std::fflush(stdout);
  }
  Tally turn_until(Instant end, std::size_t bytes, bool send) {
    Tally tally;
    const Instant begin = clock_.now();
    for (Instant now = begin; now < end; now = clock_.now()) {
      const auto due = static_cast<std::uint64_t>(rate_ * (now - begin).to_seconds());
      first_ = (first_ + 1) % ports_.size();
      for (std::size_t k = 0; k < ports_.size(); ++k) {
        const std::size_t port = (first_ + k) % ports_.size();
        // With a rate a frame goes when it is due, and no burst waits for another.
        std::size_t most = kBurst;
        if (rate_ != 0) most = due > tally.sent ? due - tally.sent : 0;
        if (send && most > 0) tally.sent += transmit(port, most);
        receive(port, bytes, tally);
      }
    }
    return tally;
  }
  std::uint16_t transmit(std::size_t port, std::size_t most) {
    std::vector<rte_mbuf*>& frames = frames_[port];
    const std::size_t first = next_[port];
    const auto count =
        static_cast<std::uint16_t>(std::min({std::size_t{kBurst}, most, frames.size() - first}));
    const std::int64_t now_ns = clock_.now().to_ns();
    for (std::uint16_t i = 0; i < count; ++i) {
      rte_mbuf* m = frames[first + i];
      std::memcpy(rte_pktmbuf_mtod_offset(m, char*, wire::kEthernetBytes + offsetof(Mark, sent_ns)),
                  &now_ns, sizeof now_ns);
      rte_mbuf_refcnt_update(m, 1);  // the driver frees what it has copied
    }
    const std::uint16_t sent = ports_[port].transmit(&frames[first], count);
    for (std::uint16_t i = sent; i < count; ++i) rte_mbuf_refcnt_update(frames[first + i], -1);
    next_[port] = (first + sent) % frames.size();
    return sent;
  }
  void receive(std::size_t port, std::size_t bytes, Tally& tally) {
    for (std::uint16_t queue = 0; queue < options_.queues; ++queue)
      receive(port, queue, bytes, tally);
  }
  void receive(std::size_t port, std::uint16_t queue, std::size_t bytes, Tally& tally) {
    rte_mbuf* got[kBurst];
    const std::uint16_t count = ports_[port].receive(got, kBurst, queue);
    if (count == 0) return;
    const Instant now = clock_.now();
    for (std::uint16_t i = 0; i < count; ++i) {
      Mark mark;
      const auto* frame = rte_pktmbuf_mtod(got[i], const std::byte*);
      std::memcpy(&mark, frame + wire::kEthernetBytes, sizeof mark);
      const bool whole = mark.mark == kMark && mark.bytes == got[i]->pkt_len;
      const bool astray = mark.sent_ns != 0 && mark.port != port;
      if (!whole || astray) ++tally.wrong;
      if (!whole || astray || mark.bytes != bytes || mark.sent_ns == 0) continue;
      ++tally.received;
      tally.times.add(now - Instant::from_ns(mark.sent_ns));
    }
    rte_pktmbuf_free_bulk(got, count);
  }

  Options options_;
  rte_mempool* pool_;
  dataplane::TscClock clock_;
  std::vector<impair::Port> ports_;
  std::vector<wire::MacAddress> macs_;
  std::vector<std::vector<rte_mbuf*>> frames_;  // by the port that sends them
  std::vector<std::size_t> next_;
  std::size_t first_ = 0;  // port of the turn
  double rate_ = 0;        // of the size
};

}  // namespace
}  // namespace tributary::bench

int main(int argc, char** argv) {
  tributary::cli::App app(
      "Sends plain frames through a device under test, and counts what comes back.");
  tributary::bench::Options options;
  app.add_option("--port", options.ports, "DPDK devargs; an even number of them")->required();
  app.add_option("--bytes", options.bytes, "sizes of frames")->delimiter(',');
  app.add_option("--seconds", options.seconds, "for each size");
  app.add_option("--rate", options.rates,
                 "frames a second of all ports, for each size or for all (default: no limit)")
      ->delimiter(',');
  app.add_option("--queues", options.queues, "receive queues of each port (default: 1)")
      ->check(tributary::cli::range(1, 16));
  if (const auto status = app.run(argc, argv)) return *status;
  if (options.ports.size() % 2 != 0) {
    std::fprintf(stderr, "forward_load: an even number of ports, please\n");
    return 1;
  }
  try {
    tributary::bench::Load(options).run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "forward_load: %s\n", error.what());
    return 1;
  }
  return 0;
}
