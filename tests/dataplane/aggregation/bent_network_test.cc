// T19, A5: a rank on RC or UC behind a network that loses, doubles and overtakes packets, both
// ways, and a rank by UDP: many seeds, each of which is the same every time.
#include <algorithm>
#include <random>
#include <set>

#include "tests/dataplane/aggregation/connected_fixture.h"
#include "tests/dataplane/rdma/connected/device.h"

namespace tributary::dataplane {
namespace {

constexpr std::uint32_t kOps = 40;
constexpr std::uint32_t kOpBytes = 352;  // five chunks and a half, in two packets
constexpr std::uint32_t kChunks = 6;
constexpr std::uint32_t kWindow = 16;
constexpr int kMostTurns = 200'000;
constexpr Duration kTurn = Duration::us(250);

// Chances in a thousand.
struct Bends {
  std::uint32_t lost = 0;
  std::uint32_t doubled = 0;
  std::uint32_t late = 0;
  std::uint32_t no_receive = 0;
};

// One direction of the rank's link.
class Link {
 public:
  Link(std::mt19937& random, const Bends& bends) : random_(random), bends_(bends) {}
  void send(Bytes frame) {
    if (chance(bends_.lost)) return;
    if (chance(bends_.doubled)) under_way_.push_back({delay(), frame});
    under_way_.push_back({delay(), std::move(frame)});
  }
  // A turn later.
  std::vector<Bytes> arrivals() {
    std::vector<Bytes> out;
    for (auto& [left, frame] : under_way_)
      if (left-- == 0) out.push_back(std::move(frame));
    std::erase_if(under_way_, [](const auto& item) { return item.second.empty(); });
    return out;
  }
  bool chance(std::uint32_t in_thousand) { return random_() % 1000 < in_thousand; }

 private:
  std::uint32_t delay() {
    return chance(bends_.late) ? 1 + static_cast<std::uint32_t>(random_() % 3) : 0;
  }

  std::mt19937& random_;
  Bends bends_;
  std::vector<std::pair<std::uint32_t, Bytes>> under_way_;
};

class BentNetworkTest : public ConnectedTest {
 protected:
  // Until all sums are there, or the switch ends the connection.
  void play(int transport, std::uint32_t seed, const Bends& bends) {
    auto config = connected_config();
    config.jobs[0].window = kWindow;
    config.jobs[0].lease = Duration::seconds(1);
    sw.reset();
    ranks.clear();
    start(config);
    rc->transport = transport;
    rc->request.op_bytes = kOpBytes;
    rc->request.ops = 2;
    done_of_udp_ = sent_of_udp_ = wrong_of_udp_ = 0;
    results_.clear();
    over = false;
    connect();
    ASSERT_EQ(rc->grant.ops, 2u);
    std::mt19937 random(seed);
    Device device(*rc, kOps);
    Link up(random, bends);
    Link down(random, bends);
    sw->inject(1, ranks[1].join(101));
    for (int turns = 0; turns < kMostTurns && !over && !is_done(device); ++turns)
      turn(device, up, down, bends, turns);
    wrong = device.wrong() + wrong_of_udp_;
    failed = device.failed();
    complete = device.is_complete();
    done = device.done();
  }

  bool over = false;  // DREQ came
  std::string why;    // it did
  bool complete = false;
  bool failed = false;
  std::uint32_t wrong = 0;
  std::uint32_t done = 0;

 private:
  [[nodiscard]] bool is_done(const Device& device) const {
    return device.failed() || device.wrong() != 0 || (device.is_complete() && done_of_udp_ == kOps);
  }
  void turn(Device& device, Link& up, Link& down, const Bends& bends, int turns) {
    sw->now = sw->now + kTurn;
    if (up.chance(bends.no_receive)) device.lack_receive();
    for (Bytes& frame : device.poll(sw->now)) up.send(std::move(frame));
    for (const Bytes& frame : up.arrivals()) sw->inject(0, frame);
    if (turns % 400 == 0 && ranks[1].epoch != 0)
      sw->inject(1, ranks[1].frame(ranks[1].header(wire::PacketType::lease), {}, {}));
    contribute_by_udp();
    sw->turn();
    for (Bytes& frame : sw->sent(0)) {
      if (RcRank::attribute_of(frame) == kDreq) note_end(frame, turns);
      down.send(std::move(frame));
    }
    for (const Bytes& frame : down.arrivals()) device.take(frame, sw->now);
    for (const Bytes& frame : sw->sent(1)) take_by_udp(frame);
  }
  void note_end(const Bytes& frame, int turns) {
    over = true;
    constexpr std::size_t kWhyAt = 36;
    why = reinterpret_cast<const char*>(read_send(frame)->roce.payload.data() + kWhyAt);
    why += ", after " + std::to_string(turns) + " turns";
  }
  void contribute_by_udp() {
    if (ranks[1].epoch == 0 || sent_of_udp_ == kOps || sent_of_udp_ > done_of_udp_) return;
    const std::uint32_t op = sent_of_udp_++;
    for (std::uint32_t chunk = 0; chunk < kChunks; ++chunk) {
      const std::uint32_t first = chunk * 16;
      Values data;
      for (std::uint32_t i = first; i < std::min(first + 16, kOpBytes / 4); ++i)
        data.push_back(Device::others(op, i));
      wire::Header h = ranks[1].header(wire::PacketType::contribution);
      h.flags = chunk + 1 == kChunks ? wire::kFlagLast : 0u;
      h.op = op;
      h.chunk = chunk;
      h.seq = op * kChunks + chunk;
      h.slot = h.seq & (kWindow - 1);
      h.covered = 1;
      h.dtype = wire::DType::int32;
      h.element_count = static_cast<std::uint16_t>(data.size());
      sw->inject(1, ranks[1].frame(h, {}, std::as_bytes(std::span(data))));
    }
  }
  void take_by_udp(const Bytes& frame) {
    const auto read = read_packet(frame);
    if (!read) return;
    const wire::Header& h = read->packet.header;
    if (h.type == wire::PacketType::start) ranks[0].epoch = ranks[1].epoch = h.epoch;
    if (h.type != wire::PacketType::result) return;
    Values sum;
    for (std::uint32_t i = h.chunk * 16; i < std::min(h.chunk * 16 + 16, kOpBytes / 4); ++i)
      sum.push_back(Device::mine(h.op, i) + Device::others(h.op, i));
    const auto payload = read->packet.payload;
    if (Bytes(payload.begin(), payload.end()) != bytes_of(sum)) ++wrong_of_udp_;
    results_.insert(h.seq);
    while (results_.contains(done_of_udp_ * kChunks) && has_all(done_of_udp_)) ++done_of_udp_;
  }
  [[nodiscard]] bool has_all(std::uint32_t op) const {
    for (std::uint32_t chunk = 0; chunk < kChunks; ++chunk)
      if (!results_.contains(op * kChunks + chunk)) return false;
    return true;
  }

  std::uint32_t sent_of_udp_ = 0;
  std::uint32_t done_of_udp_ = 0;
  std::uint32_t wrong_of_udp_ = 0;
  std::set<std::uint32_t> results_;
};

TEST_F(BentNetworkTest, T19_SumsOnRcAreExactWhateverIsLost) {
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const std::uint32_t grade = seed % 4;
    play(0, seed,
         {.lost = 10 + 30 * grade,
          .doubled = 20 * grade,
          .late = 50 * grade,
          .no_receive = 5 * grade});
    ASSERT_TRUE(complete) << done << " ops, ended: " << why;
    ASSERT_FALSE(over || failed);
    ASSERT_EQ(wrong, 0u);
    ASSERT_EQ(completions(), kOps * kChunks) << "each chunk is summed once";
    for (const DropReason reason :
         {DropReason::icrc, DropReason::rdma_address, DropReason::rdma_opcode})
      ASSERT_EQ(sw->drops(0, reason), 0u) << drop_label(reason);
  }
}

TEST_F(BentNetworkTest, T19_DuplicatesOnUcAreHarmless) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    play(1, seed, {.doubled = 100 * (seed % 4)});
    ASSERT_TRUE(complete);
    ASSERT_FALSE(over);
    ASSERT_EQ(wrong, 0u);
    ASSERT_EQ(completions(), kOps * kChunks);
  }
}

// The rank has right sums, or is told that it is over.
TEST_F(BentNetworkTest, A5_LossesOnUcEndTheEpochAndAreNeverAWrongSum) {
  std::uint32_t ended = 0;
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const std::uint32_t grade = seed % 4;
    play(1, seed, {.lost = 2 + 5 * grade, .doubled = 10 * grade, .late = 10 * grade});
    ASSERT_EQ(wrong, 0u);
    ASSERT_TRUE(complete || over);
    ended += over ? 1 : 0;
  }
  EXPECT_GT(ended, 20u) << "losses are frequent enough to matter";
  EXPECT_LT(ended, 60u) << "and some seeds have none";
}

}  // namespace
}  // namespace tributary::dataplane
