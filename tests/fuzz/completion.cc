// The completion engine under contributions, aggregates over any set of ranks, marks, probes,
// acknowledgements and time, decoded from the input. Honest pieces carry the exact sum of the
// ranks they name, so whatever overlaps, is replaced, refused or given up, a result must be the
// exact sum of all ranks; and it must never change.
#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <set>
#include <vector>

#include "completion/engine/engine.h"
#include "core/wire/extension.h"
#include "core/wire/rank_bitmap.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/target.h"

namespace tributary::fuzz {
namespace {

using completion::Decision;
using completion::Engine;
using completion::JobLimits;
using completion::Verdict;
using wire::PacketType;

constexpr std::size_t kMostSteps = 400;
constexpr std::uint32_t kJob = 7;
constexpr std::uint32_t kTerm = 3;

JobLimits draw_limits(Input& in) {
  JobLimits l;
  l.id = kJob;
  l.workers = in.pick<std::uint32_t>({1, 2, 3, 5, 70});
  l.window = 1u << in.below(4);
  l.piece_bytes = 8 * in.between(1, 4);
  l.shards = static_cast<std::uint8_t>(in.between(1, 2));
  l.order = in.below(4) == 0 ? wire::Order::reproducible : wire::Order::fast;
  l.root_is_here = in.flag();
  l.deadline = in.flag() ? Duration::ms(300) : Duration::seconds(3600);
  const std::uint64_t spare = completion::most_bytes(l) - completion::least_bytes(l);
  l.bytes = completion::least_bytes(l) + spare * in.below(5) / 4;
  return l;
}

class Play {
 public:
  explicit Play(Input& in)
      : in_(in),
        limits_(draw_limits(in)),
        first_seq_(in.pick<std::uint32_t>({0, 0xFFFFFFFA, 0x7FFFFFFE})),
        engine_(std::span(&limits_, 1)),
        out_(engine_.outbox_capacity()) {
    start_epoch();
  }

  void run() {
    for (std::size_t n = 0; n < kMostSteps && !in_.empty(); ++n) {
      step();
      check();
    }
    engine_.end_epoch(kJob);
    FUZZ_CHECK(engine_.status(now_, 10).empty() && engine_.counters(0).chunks_open.get() == 0);
    FUZZ_CHECK(engine_.counters(0).bytes_held.get() == 0);
  }

 private:
  using Key = std::pair<std::uint8_t, std::uint32_t>;  // shard, seq

  void start_epoch();
  void step();
  void piece();
  void check() const;
  Decision deliver(const wire::Header& h, std::span<const std::byte> extensions,
                   std::span<const std::byte> payload);
  void sent(const aggregator::Outgoing& message);
  void lie(wire::Header& h);
  [[nodiscard]] wire::Header header(PacketType type);
  // Small, so that no sum leaves the type.
  static std::uint32_t value(std::uint32_t rank, std::uint32_t seq, std::size_t element) {
    return (rank * 7919 + seq * 104729 + static_cast<std::uint32_t>(element) * 31) % 100'000;
  }
  [[nodiscard]] std::size_t elements(std::uint32_t seq) const {
    return (seq - first_seq_) % (limits_.piece_bytes / 4 + 1);
  }
  [[nodiscard]] std::vector<std::uint32_t> sum(const std::set<std::uint32_t>& ranks,
                                               std::uint32_t seq, std::size_t count) const {
    std::vector<std::uint32_t> out(count);
    for (const std::uint32_t rank : ranks)
      for (std::size_t i = 0; i < count; ++i) out[i] += value(rank, seq, i);
    return out;
  }

  Input& in_;
  JobLimits limits_;
  std::uint32_t first_seq_;
  Engine engine_;
  aggregator::Outbox out_;
  Instant now_ = Instant::from_ns(1);
  std::uint16_t epoch_ = 0;
  bool aborted_ = false;
  std::array<std::uint32_t, 2> low_{};  // by shard: lowest seq without a result
  std::map<Key, std::vector<std::byte>> results_;
  std::set<Key> lied_about_;
};

void Play::start_epoch() {
  ++epoch_;
  aborted_ = false;
  low_.fill(first_seq_);
  results_.clear();
  lied_about_.clear();
  engine_.start_epoch(kJob, epoch_, first_seq_, kTerm);
}

// About a chunk within the window, which is what a host lets through.
wire::Header Play::header(PacketType type) {
  wire::Header h;
  h.type = type;
  h.job = kJob;
  h.epoch = epoch_;
  h.shard = static_cast<std::uint8_t>(in_.below(limits_.shards));
  const std::uint32_t back = std::min(low_[h.shard] - first_seq_, limits_.window);
  h.seq = low_[h.shard] - back + in_.below(limits_.window + back);
  h.op = h.seq - first_seq_;
  h.fan_in = static_cast<std::uint16_t>(limits_.workers);
  h.origin = in_.below(limits_.workers);
  h.child = static_cast<std::uint16_t>(h.origin);
  return h;
}

void Play::lie(wire::Header& h) {
  lied_about_.insert({h.shard, h.seq});
  switch (in_.below(12)) {
    case 0: ++h.epoch; break;
    case 1: h.op += in_.between(1, 2); break;
    case 2: h.origin = in_.u32(); break;
    case 3: h.covered = in_.below(80); break;
    case 4: h.dtype = static_cast<wire::DType>(in_.below(wire::kDTypeMax + 1)); break;
    case 5: h.reduce_op = static_cast<wire::ReduceOp>(in_.between(1, wire::kReduceOpMax)); break;
    case 6: h.collective = static_cast<wire::Collective>(in_.below(6)); break;
    case 7: h.element_count = static_cast<std::uint16_t>(in_.below(12)); break;
    case 8: h.type = static_cast<PacketType>(in_.between(1, wire::kPacketTypeMax)); break;
    case 9: h.shard = static_cast<std::uint8_t>(in_.below(4)); break;
    case 10: h.flags ^= 1u << in_.below(24); break;
    default: h.job = in_.below(9); break;
  }
  lied_about_.insert({h.shard, h.seq});
}

Decision Play::deliver(const wire::Header& h, std::span<const std::byte> extensions,
                       std::span<const std::byte> payload) {
  std::vector<std::byte> bytes(wire::serialized_bytes(extensions.size()));
  FUZZ_CHECK(wire::serialize(h, extensions, bytes) != 0);
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  const auto parsed = wire::parse(bytes);
  const auto* p = std::get_if<wire::Packet>(&parsed);
  if (p == nullptr) return {Verdict::dropped, DropReason::bad_type};
  out_.clear();
  const Decision d = engine_.on_packet(*p, now_, out_);
  FUZZ_CHECK((d.verdict == Verdict::dropped) <= (d.reason != DropReason::none));
  for (const auto& message : out_.items()) sent(message);
  FUZZ_CHECK(out_.overflows() == 0);
  if (d.verdict == Verdict::completed) {
    const Key key{h.shard, h.seq};
    FUZZ_CHECK(results_.contains(key));
    std::uint32_t& low = low_[h.shard];
    while (results_.contains({h.shard, low})) ++low;
    if (limits_.root_is_here || in_.below(4) != 0) engine_.result_accepted(kJob, h.shard, h.seq);
  }
  return d;
}

void Play::sent(const aggregator::Outgoing& message) {
  const wire::Header& h = message.header;
  FUZZ_CHECK(h.job == kJob && h.epoch == epoch_);
  if (h.type == PacketType::abort) aborted_ = true;
  if (h.type == PacketType::pending || h.type == PacketType::unknown) {
    FUZZ_CHECK(h.origin < limits_.workers);
  }
  if (h.type != PacketType::result) return;
  FUZZ_CHECK(h.shard < limits_.shards);
  const Key key{h.shard, h.seq};
  const std::vector<std::byte> bits(message.payload.begin(), message.payload.end());
  const auto [known, fresh] = results_.emplace(key, bits);
  FUZZ_CHECK(fresh || known->second == bits);
  if (lied_about_.contains(key)) return;
  std::set<std::uint32_t> all;
  for (std::uint32_t rank = 0; rank < limits_.workers; ++rank) all.insert(rank);
  const auto expected = sum(all, h.seq, elements(h.seq));
  FUZZ_CHECK(h.covered == limits_.workers && h.element_count == expected.size());
  FUZZ_CHECK(bits.size() == expected.size() * 4);
  FUZZ_CHECK(bits.empty() || std::memcmp(bits.data(), expected.data(), bits.size()) == 0);
}

// A contribution of one rank, or an aggregate of some.
void Play::piece() {
  const bool aggregate = in_.flag();
  wire::Header h = header(aggregate ? PacketType::escalation : PacketType::contribution);
  h.dtype = wire::DType::int32;
  h.flags = wire::kFlagLast | (in_.flag() ? wire::kFlagResend : 0u);
  h.element_count = static_cast<std::uint16_t>(elements(h.seq));
  h.covered = 1;
  h.reason = wire::Reason::collision;
  std::set<std::uint32_t> ranks{h.origin};
  std::array<std::byte, 256> room;
  wire::ExtensionWriter extensions(room);
  if (aggregate) {
    std::vector<std::uint64_t> set(wire::rank_words(limits_.workers));
    for (std::uint64_t& word : set) word = in_.u16() * std::uint64_t{0x0001000300050009};
    ranks.clear();
    for (std::uint32_t rank = 0; rank < limits_.workers; ++rank)
      if ((set[rank / 64] >> (rank % 64) & 1) != 0) ranks.insert(rank);
    std::fill(set.begin(), set.end(), 0);
    for (const std::uint32_t rank : ranks) set[rank / 64] |= 1ULL << (rank % 64);
    FUZZ_CHECK(wire::add_rank_bitmaps(extensions, set));
    h.covered = static_cast<std::uint32_t>(ranks.size());
    if (ranks.empty()) h.element_count = 0;  // a mark
    if (ranks.empty()) h.dtype = wire::DType::none;
  }
  if (in_.below(8) == 0) lie(h);
  const auto values = sum(ranks, h.seq, h.element_count);
  std::vector<std::byte> payload(h.element_count * wire::size_of(h.dtype));
  if (!payload.empty())
    std::memcpy(payload.data(), values.data(), std::min(payload.size(), values.size() * 4));
  deliver(h, extensions.bytes(), payload);
}

void Play::step() {
  if (aborted_ || in_.below(64) == 63) {
    // Late packets of an aborted epoch are answered so.
    if (aborted_) FUZZ_CHECK(deliver(header(PacketType::probe), {}, {}).verdict != Verdict::held);
    return start_epoch();
  }
  const std::uint32_t what = in_.below(8);
  if (what < 5) return piece();
  if (what == 5) {
    now_ = now_ + Duration::ms(in_.below(200));
    out_.clear();
    engine_.expire(now_, out_);
    for (const auto& message : out_.items()) {
      FUZZ_CHECK(message.header.type == PacketType::abort);
      sent(message);
    }
    return;
  }
  wire::Header h = header(what == 6 ? PacketType::probe : PacketType::ack);
  // An acknowledgement of what all can hold.
  if (what == 7) h.seq = low_[h.shard] - std::min(in_.below(3), low_[h.shard] - first_seq_);
  deliver(h, {}, {});
}

void Play::check() const {
  const auto& c = engine_.counters(0);
  const auto open = engine_.status(now_, 1u << 16);
  FUZZ_CHECK(c.chunks_open.get() == open.size() || aborted_);
  FUZZ_CHECK(c.bytes_held.get() <= limits_.bytes && c.bytes_high_water.get() <= limits_.bytes);
  for (const auto& chunk : open) {
    FUZZ_CHECK(chunk.covered < chunk.required || chunk.required == 0);
    FUZZ_CHECK(chunk.pieces <= chunk.covered && chunk.open_for >= Duration());
  }
}

}  // namespace
}  // namespace tributary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tributary::fuzz::Input in(data, size);
  tributary::fuzz::Play(in).run();
  return 0;
}
