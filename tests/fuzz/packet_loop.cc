// The whole packet loop, one or two of them, under frames in every shape that an mbuf can have, on
// several ports, with the clock, links, buffers, slow ports and the configuration changing between.
//
// What holds: every frame is counted once as what became of it; what leaves is a whole frame that
// its port takes, and is what came in, or is the switch's own and valid; the loop writes to no
// buffer that has another holder; and in the end all buffers are back.
#include <rte_mempool.h>

#include <bit>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "config/change/change.h"
#include "dataplane/io/capture.h"
#include "dataplane/udp/frame_writer.h"
#include "tests/fuzz/connected_form.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/packet_bench.h"
#include "tests/fuzz/packet_checks.h"
#include "tests/fuzz/packet_form.h"
#include "tests/fuzz/packet_rules.h"

namespace tributary::fuzz {
namespace {

using dataplane::Action;
using dataplane::CapturePoint;
constexpr std::size_t kPorts = PacketBench::kPorts;
constexpr std::size_t kMostSteps = 48;
constexpr std::size_t kMostTurns = 64;
constexpr std::uint32_t kSnap = 64;
using PerPort = std::array<std::uint64_t, kPorts>;
struct Drops {
  PerPort all{};
  PerPort refused{};  // those that are of a frame that came in, for sure
};

class Play {
 public:
  explicit Play(Input& in)
      : in_(in),
        start_(in.u8()),
        config_(packet_rules(start_, in.u8())),
        identity_(dataplane::identity_of(config_)) {
    bench_.start(config_);
    if ((start_ & kTraced) != 0) trace();
  }

  void run() {
    settle();
    for (std::size_t n = 0; n < kMostSteps && !in_.empty(); ++n) {
      step();
      settle();
    }
    finish();
  }

 private:
  void step();
  void arrive();
  [[nodiscard]] Frame draw_frame();
  void make_right(Frame& frame, std::uint8_t what) const;
  [[nodiscard]] const dataplane::Connection* connection() const;
  [[nodiscard]] bool give(std::size_t port, const Frame& frame, const PacketForms::Shape& shape);
  void starve(std::size_t left);
  void feed();
  void reload(std::uint8_t rules);
  void trace();
  void read_traces();
  void settle();
  std::size_t turn();
  void take_sent(std::size_t port);
  void check_one(std::size_t port, const Frame& frame, std::size_t first, const Drops& before);
  void check_forwarded(std::size_t port, const Frame& frame, const PerPort& dropped);
  void finish();
  void check_counters();
  [[nodiscard]] Drops drops() const;
  [[nodiscard]] std::uint64_t drops(DropReason reason) const;

  Input& in_;
  PacketBench& bench_ = PacketBench::instance();
  std::uint8_t start_;
  config::SwitchConfig config_;
  dataplane::Identity identity_;
  PacketForms forms_{bench_.arrivals()};
  Instant now_ = Instant::from_ns(1'000'000'000);
  std::uint8_t slow_ = 0;  // ports whose frames are not taken, bits
  std::vector<rte_mbuf*> starved_;
  PerPort given_{};
  PerPort given_bytes_{};
  // Since the last arrival: what left that is not the switch's own.
  std::array<std::vector<Frame>, kPorts> passed_;
  std::vector<std::unique_ptr<dataplane::CaptureTap>> taps_;
  // As traced.
  std::uint64_t seen_ = 0;
  std::uint64_t judged_ = 0;
  std::array<std::uint64_t, kDropReasonCount> shown_drops_{};
};

void Play::step() {
  switch (in_.below(10)) {
    case 5:
      now_ = now_ + in_.pick<Duration>({Duration::us(1), Duration::ms(60), Duration::seconds(1),
                                        Duration::seconds(11), Duration::seconds(400)});
      return;
    case 6: {
      const std::size_t port = in_.below(kPorts);
      return bench_.set_link(port, in_.flag());
    }
    case 7: return starved_.empty() ? starve(in_.below(8)) : feed();
    case 8: return reload(in_.u8());
    case 9: slow_ = in_.u8() & 7; return;
    default: return arrive();
  }
}

Frame Play::draw_frame() {
  const std::uint8_t what = in_.u8();
  const auto padded = in_.pick<std::size_t>({0, 60, 590, 594, 1514, 1519, 9019, 20'000});
  const auto taken = in_.bytes(in_.u16() % 2048);
  Frame frame(taken.begin(), taken.end());
  if (frame.size() < padded) frame.resize(padded);
  make_right(frame, what);
  return frame;
}

// Numbers that a fuzzer cannot guess, and a listener on the network knows.
void Play::make_right(Frame& frame, std::uint8_t what) const {
  constexpr std::size_t kJob = 9;
  constexpr std::size_t kEpoch = 10;
  const std::size_t at = wire::kUdpPayloadOffset + (is_tagged(frame) ? wire::kVlanBytes : 0);
  if ((what & 1) != 0 && frame.size() >= at + wire::kHeaderBytes)
    for (const auto& packet_loop : bench_.packet_loops())
      if (const auto epoch = packet_loop->engine().running_epoch(byte_at(frame, at + kJob))) {
        frame[at + kEpoch] = static_cast<std::byte>(*epoch >> 8);
        frame[at + kEpoch + 1] = static_cast<std::byte>(*epoch & 0xFF);
      }
  if ((what & 2) != 0 && frame.size() > at) wire::seal_crc32c(std::span(frame).subspan(at));
  if ((what & 4) != 0) repair_frame(frame);
  if ((what & 8) != 0 && !is_tagged(frame)) make_connected(frame, connection());
}

const dataplane::Connection* Play::connection() const {
  const dataplane::Connection* found = nullptr;
  for (const auto& packet_loop : bench_.packet_loops())
    std::as_const(packet_loop->connections()).each([&](const auto& c) { found = &c; });
  return found;
}

bool Play::give(std::size_t port, const Frame& frame, const PacketForms::Shape& shape) {
  rte_mbuf* const made = forms_.make(frame, shape);
  if (made == nullptr) return false;
  const std::uint32_t bytes = made->pkt_len;
  if (!bench_.give(port, made)) {
    rte_pktmbuf_free(made);
    return false;
  }
  ++given_[port];
  given_bytes_[port] += bytes;
  return true;
}

void Play::arrive() {
  const std::uint8_t where = in_.u8();
  const std::size_t port = where % kPorts;
  const std::size_t times = where < 0xE0 ? 1 : 16 + where % 32;
  const Frame frame = draw_frame();
  const auto shape = PacketForms::draw(in_, frame.size());
  const Drops before = drops();
  for (auto& passed : passed_) passed.clear();
  std::size_t given = 0;
  while (given < times && give(port, frame, shape)) ++given;
  settle();
  const std::size_t first = shape.lengths.empty() ? frame.size() : shape.lengths.front();
  if (given == 1 && times == 1 && slow_ == 0) check_one(port, frame, first, before);
}

Drops Play::drops() const {
  Drops drops;
  for (std::size_t port = 0; port < kPorts; ++port) {
    const auto counters = bench_.packet_loops().port_counters(port);
    for (std::size_t r = 0; r < kDropReasonCount; ++r) {
      const auto reason = static_cast<DropReason>(r);
      if (is_of_answers(reason)) continue;
      drops.all[port] += counters.drops.get(reason);
      if (!is_of_sending(reason)) drops.refused[port] += counters.drops.get(reason);
    }
  }
  return drops;
}

std::uint64_t Play::drops(DropReason reason) const {
  std::uint64_t all = 0;
  for (std::size_t port = 0; port < kPorts; ++port)
    all += bench_.packet_loops().port_counters(port).drops.get(reason);
  return all;
}

// For a frame that came alone while nothing waited: what was counted since is its.
void Play::check_one(std::size_t port, const Frame& frame, std::size_t first, const Drops& before) {
  const Drops now = drops();
  PerPort dropped = now.all;
  for (std::size_t p = 0; p < kPorts; ++p) dropped[p] -= before.all[p];
  const auto what =
      dataplane::classify(identity_, std::span(frame).first(first), first == frame.size());
  std::size_t passed = 0;
  for (const auto& frames : passed_) passed += frames.size();
  const std::uint64_t all = std::accumulate(dropped.begin(), dropped.end(), std::uint64_t{0});
  switch (what.action) {
    case Action::forward: return check_forwarded(port, frame, dropped);
    case Action::intercept_arp:
      if (all + passed != 0) check_forwarded(port, frame, dropped);
      return;
    case Action::drop: FUZZ_CHECK(all == 1 && dropped[port] == 1 && passed == 0); return;
    case Action::lldp:
    case Action::probe: FUZZ_CHECK(all <= 1 && dropped[port] == all && passed == 0); return;
    case Action::reassemble: FUZZ_CHECK(passed == 0); return;
    case Action::aggregate:
    case Action::host:
    case Action::rdma:
    case Action::answer_cm:
    case Action::returned:
    case Action::answer_arp:
    case Action::answer_echo:
      FUZZ_CHECK(now.refused[port] - before.refused[port] <= 1 && passed == 0);
      return;
  }
}

// Where it came in it is dropped, or each port that it is for sends or drops it; a broadcast is for
// all others of its VLAN.
void Play::check_forwarded(std::size_t port, const Frame& frame, const PerPort& dropped) {
  FUZZ_CHECK(passed_[port].empty() && dropped[port] <= 1);
  std::uint64_t elsewhere = 0;
  for (std::size_t p = 0; p < kPorts; ++p) {
    if (p == port) continue;
    FUZZ_CHECK(passed_[p].size() + dropped[p] <= 1);
    elsewhere += passed_[p].size() + dropped[p];
    for (const Frame& other : passed_[p])
      FUZZ_CHECK(other == frame || untagged(other) == untagged(frame) || untagged(other) == frame);
  }
  FUZZ_CHECK((dropped[port] == 0) == (elsewhere != 0));
  wire::EthernetView view;
  if (elsewhere == 0 || wire::parse_ethernet(frame, view) != DropReason::none) return;
  if (view.destination != wire::MacAddress{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}) return;
  const dataplane::VlanTable vlans(config_.ports);
  const auto place = static_cast<std::uint16_t>(port);
  const auto others = vlans.members(vlans.vlan_of(place, view)) & ~dataplane::mask_of(place);
  FUZZ_CHECK(elsewhere == static_cast<std::uint64_t>(std::popcount(others)));
}

// All buffers of the switch but so many are elsewhere.
void Play::starve(std::size_t left) {
  while (rte_mbuf* const buffer = rte_pktmbuf_alloc(bench_.switch_pool()))
    starved_.push_back(buffer);
  for (; left != 0 && !starved_.empty(); --left) {
    rte_pktmbuf_free(starved_.back());
    starved_.pop_back();
  }
}

void Play::feed() {
  for (rte_mbuf* const buffer : starved_) rte_pktmbuf_free(buffer);
  starved_.clear();
}

// As a file would be read anew, with packets between one loop's part and the other's.
void Play::reload(std::uint8_t rules) {
  const config::SwitchConfig next = packet_rules(start_, rules);
  auto& workers = bench_.packet_loops();
  std::vector<std::shared_ptr<dataplane::PacketLoop::Change>> parts;
  try {
    const auto change = config::difference(config_, next);
    for (const auto& packet_loop : workers)
      parts.push_back(packet_loop->prepare(next, change.forwarding));
  } catch (const std::exception&) {
    return;  // refused whole
  }
  for (std::size_t lcore = 0; lcore < workers.size(); ++lcore) {
    workers[lcore].apply(*parts[lcore], now_);
    turn();
  }
  config_ = next;
  identity_ = dataplane::identity_of(next);
}

void Play::trace() {
  auto wish = std::make_shared<dataplane::CaptureWish>();
  wish->verdict = true;
  wish->ports.assign(kPorts, true);
  wish->snap = kSnap;
  for (const auto& packet_loop : bench_.packet_loops()) {
    taps_.push_back(std::make_unique<dataplane::CaptureTap>(wish, std::size_t{4096} * kSnap));
    packet_loop->capture(taps_.back().get());
  }
}

void Play::read_traces() {
  std::array<std::byte, kSnap> bytes;
  dataplane::CapturedFrame frame;
  for (const auto& tap : taps_) {
    while (tap->take(frame, bytes)) {
      FUZZ_CHECK(frame.kept <= kSnap && frame.kept <= frame.length);
      if (frame.point == CapturePoint::rx) ++seen_;
      if (frame.point == CapturePoint::verdict && !frame.verdict.handed_to) ++judged_;
      if (frame.point == CapturePoint::drop) ++shown_drops_[static_cast<std::size_t>(frame.reason)];
    }
    FUZZ_CHECK(tap->missed() == 0);
  }
}

std::size_t Play::turn() {
  std::size_t handled = 0;
  for (const auto& packet_loop : bench_.packet_loops()) handled += packet_loop->turn(now_);
  for (std::size_t port = 0; port < kPorts; ++port)
    if ((slow_ >> port & 1) == 0) take_sent(port);
  read_traces();
  return handled;
}

// Until nothing is under way: each port has its turn of what is done for one at a time.
void Play::settle() {
  std::size_t idle = 0;
  for (std::size_t n = 0; idle < 2 * kPorts && n < kMostTurns; ++n)
    idle = turn() == 0 ? idle + 1 : 0;
}

void Play::take_sent(std::size_t port) {
  for (rte_mbuf* const sent : bench_.take(port)) {
    check_buffers(sent);
    Frame frame = bytes_of(sent);
    FUZZ_CHECK(frame.size() >= wire::kEthernetBytes);
    FUZZ_CHECK(frame.size() <= config_.ports[port].mtu + wire::kEthernetBytes +
                                   (is_tagged(frame) ? wire::kVlanBytes : 0));
    const bool own = std::memcmp(&frame[6], identity_.mac.data(), identity_.mac.size()) == 0;
    if (own)
      check_own(frame);
    else
      passed_[port].push_back(std::move(frame));
    rte_pktmbuf_free(sent);
  }
}

void Play::finish() {
  feed();
  slow_ = 0;
  for (std::size_t port = 0; port < kPorts; ++port) bench_.set_link(port, true);
  settle();
  now_ = now_ + Duration::seconds(1);  // fragments that still wait
  settle();
  check_counters();
  forms_.check_held();
  FUZZ_CHECK(PacketBench::in_use(bench_.switch_pool()) == 0);
  FUZZ_CHECK(PacketBench::in_use(bench_.arrivals()) == 0);
  bench_.stop();
  FUZZ_CHECK(PacketBench::in_use(bench_.switch_pool()) == 0);
  FUZZ_CHECK(PacketBench::in_use(bench_.arrivals()) == 0);
}

void Play::check_counters() {
  std::uint64_t given = 0;
  std::uint64_t reassembled = 0;
  for (std::size_t port = 0; port < kPorts; ++port) {
    const auto counters = bench_.packet_loops().port_counters(port);
    FUZZ_CHECK(counters.rx_packets.get() == given_[port]);
    FUZZ_CHECK(counters.rx_bytes.get() == given_bytes_[port]);
    given += given_[port];
    reassembled += counters.reassembled.get();
  }
  if (taps_.empty()) return;
  FUZZ_CHECK(seen_ == given);
  if (drops(DropReason::handover_full) == 0) FUZZ_CHECK(judged_ == given + reassembled);
  for (std::size_t r = 0; r < kDropReasonCount; ++r)
    if (const auto reason = static_cast<DropReason>(r); !is_not_shown(reason))
      FUZZ_CHECK(shown_drops_[r] == drops(reason));
}

}  // namespace
}  // namespace tributary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tributary::fuzz::Input in(data, size);
  tributary::fuzz::Play(in).run();
  return 0;
}
