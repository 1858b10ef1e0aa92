// A worker's session against a switch that lies: answers to what it really sent, answers with one
// field wrong, and raw bytes, in any order, with refused sends and steps of time between them.
//
// Whatever comes, every op ends exactly once, an op without failure holds the results it was sent
// and nothing beside them, and the session asks to be woken later than now.
#include <array>
#include <cstring>
#include <list>
#include <map>
#include <vector>

#include "core/wire/extension.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/target.h"
#include "worker/session/session.h"

namespace tributary::fuzz {
namespace {

using wire::PacketType;
using worker::Op;
using worker::SendBatch;
using worker::Session;
using worker::SessionOptions;
using worker::SessionState;

constexpr std::size_t kMostSteps = 300;
constexpr std::size_t kMostOps = 16;
constexpr std::uint64_t kNonce = 0x1122334455667788;

// An op with its memory in blocks of their own, and what they should hold in the end.
struct Call {
  Op op;
  std::vector<std::byte> data, output;
  std::vector<std::byte> expected_data, expected_output;
  bool done = false;

  void take(std::uint32_t chunk, std::span<const std::byte> payload) {
    const std::byte* const at = op.output_of(chunk).data();
    const bool in_data = !data.empty() && at >= data.data() && at < data.data() + data.size();
    auto& expected = in_data ? expected_data : expected_output;
    const auto offset = static_cast<std::size_t>(at - (in_data ? data.data() : output.data()));
    FUZZ_CHECK(offset + payload.size() <= expected.size());
    std::memcpy(expected.data() + offset, payload.data(), payload.size());
  }
};

class Play {
 public:
  explicit Play(Input& in)
      : in_(in),
        options_(draw_options(in)),
        session_(options_, now_),
        child_(options_.rank),
        fan_in_(options_.size) {}

  void run() {
    for (std::size_t n = 0; n < kMostSteps && !in_.empty(); ++n) {
      step();
      take_finished();
    }
    finish();
  }

 private:
  static SessionOptions draw_options(Input& in) {
    SessionOptions o;
    o.job = 7;
    o.size = in.between(1, 4);
    o.rank = in.below(o.size);
    o.nonce = kNonce;
    o.join_timeout = Duration::ms(in.between(1, 2000));
    o.op_timeout = Duration::ms(in.between(1, 2000));
    o.max_datagram_bytes = in.pick<std::size_t>({1472, 200, 9000});
    o.switch_name = "test";
    return o;
  }

  void step();
  void poll();
  void check_sent(const worker::Datagram& datagram);
  void submit();
  void take_finished();
  void finish();
  void start();
  void result();
  void answer(PacketType type);
  void raw();
  void lie(wire::Header& h);
  void deliver(const wire::Header& h, std::span<const std::byte> extensions,
               std::span<const std::byte> payload);

  Input& in_;
  Instant now_ = Instant::from_ns(1);
  SessionOptions options_;
  Session session_;
  SendBatch batch_;
  std::list<Call> calls_;
  std::size_t finished_ = 0;
  // What contributions and probes were about, by shard and seq; of the latest epoch.
  std::map<std::pair<std::uint8_t, std::uint32_t>, wire::Header> sent_;
  std::uint16_t epoch_ = 0;
  // Its place at the switch: at first what it assumes, then what START says.
  std::uint32_t child_;
  std::uint32_t fan_in_;
};

void Play::deliver(const wire::Header& h, std::span<const std::byte> extensions,
                   std::span<const std::byte> payload) {
  std::vector<std::byte> packet(wire::serialized_bytes(extensions.size()));
  if (wire::serialize(h, extensions, packet) == 0) return;
  packet.insert(packet.end(), payload.begin(), payload.end());
  packet.shrink_to_fit();
  const auto parsed = wire::parse(packet);
  if (const auto* p = std::get_if<wire::Packet>(&parsed)) session_.on_packet(*p, now_);
}

void Play::check_sent(const worker::Datagram& d) {
  std::vector<std::byte> packet(d.head.begin(), d.head.end());
  packet.insert(packet.end(), d.payload.begin(), d.payload.end());
  FUZZ_CHECK(packet.size() <= options_.max_datagram_bytes);
  const auto parsed = wire::parse(packet);
  FUZZ_CHECK(std::holds_alternative<wire::Packet>(parsed));
  const wire::Header& h = std::get<wire::Packet>(parsed).header;
  FUZZ_CHECK(h.job == options_.job && h.origin == options_.rank && h.child == child_);
  FUZZ_CHECK(h.fan_in == fan_in_ && h.epoch == session_.epoch() && h.shard == d.port);
  if (h.type == PacketType::probe) sent_[{h.shard, h.seq}] = h;
  if (h.type != PacketType::contribution) return;
  FUZZ_CHECK(session_.state() == SessionState::running);
  FUZZ_CHECK(d.payload.size() <= session_.start_info().chunk_bytes);
  FUZZ_CHECK(h.shard < session_.start_info().shards);
  sent_[{h.shard, h.seq}] = h;
}

void Play::poll() {
  for (int round = 0; round < 100; ++round) {
    session_.poll(now_, batch_);
    for (const auto& datagram : batch_.datagrams()) check_sent(datagram);
    const bool full = batch_.full();
    // Now and then the transport has no room.
    if (in_.below(4) == 0) {
      session_.rejected(batch_, in_.below(static_cast<std::uint32_t>(batch_.size() + 1)));
      return;
    }
    if (!full) break;
  }
  FUZZ_CHECK(session_.next_wakeup() > now_);
}

void Play::submit() {
  if (calls_.size() == kMostOps) return;
  if (session_.state() == SessionState::joining) return;  // from running on
  Call& call = calls_.emplace_back();
  Op& op = call.op;
  op.collective = static_cast<wire::Collective>(in_.below(wire::kCollectiveMax + 1));
  if (op.collective != wire::Collective::barrier) {
    op.dtype = static_cast<wire::DType>(in_.between(1, wire::kDTypeMax));
    op.reduce_op = static_cast<wire::ReduceOp>(in_.between(1, wire::kReduceOpMax));
    // The session is not asked for what the interfaces refuse.
    if (wire::why_invalid(op.dtype, op.reduce_op) != nullptr) op.reduce_op = wire::ReduceOp::max;
    op.count = in_.below(300);
    op.root = in_.below(options_.size);
  }
  const std::size_t part = op.count * wire::size_of(op.dtype);
  const std::size_t all = part * (op.has_owners() ? options_.size : 1);
  const bool gathers = op.collective == wire::Collective::all_gather;
  call.data.assign(gathers ? part : all, std::byte{0x5A});
  if (op.has_owners()) call.output.assign(gathers ? all : part, std::byte{0x5A});
  call.expected_data = call.data;
  call.expected_output = call.output;
  op.data = call.data.data();
  op.output = call.output.data();
  session_.submit(op, now_);
}

void Play::take_finished() {
  while (Op* op = session_.take_finished()) {
    const auto found = std::find_if(calls_.begin(), calls_.end(),
                                    [&](const Call& call) { return &call.op == op; });
    FUZZ_CHECK(found != calls_.end() && !found->done);
    found->done = true;
    ++finished_;
    if (op->failure) {
      FUZZ_CHECK(!op->failure->text.empty());
    } else {
      FUZZ_CHECK(op->remaining == 0 && found->data == found->expected_data);
      FUZZ_CHECK(found->output == found->expected_output);
    }
  }
  const bool ended = session_.state() == SessionState::failed ||
                     session_.state() == SessionState::leaving ||
                     session_.state() == SessionState::left;
  if (ended) FUZZ_CHECK(session_.idle() && session_.failure() && finished_ == calls_.size());
}

void Play::start() {
  wire::Header h;
  h.type = PacketType::start;
  h.job = options_.job;
  h.epoch = static_cast<std::uint16_t>(in_.below(4));
  h.seq = in_.pick<std::uint32_t>({0, 0xFFFFFFFC, 0x7FFFFFFE});
  h.fan_in = static_cast<std::uint16_t>(in_.between(1, 5));
  h.child = static_cast<std::uint16_t>(in_.below(8) == 0 ? in_.u16() : in_.below(h.fan_in));
  wire::StartInfo info;
  info.window = in_.below(8) == 0 ? in_.u32() : 1u << in_.below(5);
  info.chunk_bytes = in_.below(8) == 0 ? in_.u32() : 8 * in_.between(1, 12);
  info.workers = in_.below(8) == 0 ? in_.u32() : options_.size;
  info.lease_ms = in_.below(8) == 0 ? in_.u32() : in_.between(1, 500);
  info.group_ipv4 = 0xEFC30007;
  info.shards = static_cast<std::uint8_t>(in_.below(8) == 0 ? in_.u8() : in_.between(1, 3));
  info.integrity = static_cast<std::uint8_t>(in_.below(8) == 0 ? in_.u8() : in_.below(2));
  info.udp_base_port = 47000;
  info.partials = static_cast<std::uint8_t>(in_.below(8) == 0 ? in_.u8() : 0);
  std::array<std::byte, 64> room;
  wire::ExtensionWriter extensions(room);
  extensions.add_nonce(in_.below(8) == 0 ? in_.u64() : kNonce);
  extensions.add(info);
  const bool joining = session_.state() == SessionState::joining;
  deliver(h, extensions.bytes(), {});
  if (joining && session_.state() == SessionState::running) {
    child_ = h.child;
    fan_in_ = h.fan_in;
  }
  if (session_.epoch() != epoch_) sent_.clear();
  epoch_ = session_.epoch();
}

void Play::lie(wire::Header& h) {
  switch (in_.below(13)) {
    case 0: ++h.epoch; break;
    case 1: h.seq += in_.u32(); break;
    case 2: ++h.op; break;
    case 3: ++h.chunk; break;
    case 4: h.shard = in_.u8(); break;
    case 5: h.covered = in_.below(6); break;
    case 6: h.dtype = static_cast<wire::DType>(in_.below(wire::kDTypeMax + 1)); break;
    case 7: h.element_count = static_cast<std::uint16_t>(in_.below(400)); break;
    case 8: h.reduce_op = static_cast<wire::ReduceOp>(in_.between(1, wire::kReduceOpMax)); break;
    case 9:
      h.collective = static_cast<wire::Collective>(in_.below(wire::kCollectiveMax + 1));
      break;
    case 10: h.encoding = static_cast<wire::Encoding>(in_.below(3)); break;
    case 11: h.flags ^= 1u << in_.below(24); break;
    default: h.type = static_cast<PacketType>(in_.between(1, wire::kPacketTypeMax)); break;
  }
}

// The result of something sent, right or with one field wrong. Where the session takes it, the
// op's data must be exactly this.
void Play::result() {
  if (sent_.empty()) return;
  const auto chosen = std::next(sent_.begin(), in_.below(static_cast<std::uint32_t>(sent_.size())));
  wire::Header h = chosen->second;
  Call* call = nullptr;
  for (Call& c : calls_)
    if (!c.done && c.op.id == h.op && h.chunk < c.op.chunks) call = &c;
  h.type = PacketType::result;
  h.origin = 0;
  h.child = 0;
  h.covered = options_.size;
  h.flags = in_.below(32) == 0 ? wire::kFlagOverflow : 0u;
  if (call != nullptr) {
    h.dtype = call->op.dtype;
    h.reduce_op = call->op.reduce_op;
    h.collective = call->op.collective;
    const bool with_data = call->op.receives(h.chunk) && h.flags == 0;
    h.element_count =
        with_data ? static_cast<std::uint16_t>(call->op.elements_of(h.chunk)) : std::uint16_t{0};
    if (wire::concerns_model(h.collective)) h.flags |= wire::kFlagParams;
  }
  if (in_.below(4) == 0) lie(h);
  const auto payload = in_.block(h.element_count * wire::size_of(h.dtype));
  const std::uint64_t before = session_.counters().results.get();
  deliver(h, {}, payload);
  if (session_.counters().results.get() == before) return;
  FUZZ_CHECK(call != nullptr);
  // A flagged sum is never delivered.
  const bool flagged = (h.flags & wire::kFlagOverflow) != 0;
  if (!payload.empty() && !flagged && call->op.receives(h.chunk)) call->take(h.chunk, payload);
}

// PENDING, UNKNOWN, NACK, ABORT, ACK: about something sent, or about nothing.
void Play::answer(PacketType type) {
  wire::Header h;
  if (!sent_.empty())
    h = std::next(sent_.begin(), in_.below(static_cast<std::uint32_t>(sent_.size())))->second;
  h.type = type;
  h.job = options_.job;
  h.epoch = session_.epoch();
  h.flags = 0;
  h.dtype = wire::DType::none;
  h.element_count = 0;
  h.reason = static_cast<wire::Reason>(in_.below(40));
  if (in_.below(4) == 0) lie(h);
  std::vector<std::byte> room(wire::kMaxExtensionBytes);
  wire::ExtensionWriter extensions(room);
  if (in_.flag()) extensions.add_nonce(kNonce);
  if (in_.flag()) {
    std::vector<std::uint32_t> ids(in_.below(250));
    for (auto& id : ids) id = in_.u8();
    extensions.add_missing_ids(ids);
  }
  if (in_.below(8) == 0) {
    wire::OpError error;
    error.got = {in_.u64(),
                 in_.u32(),
                 in_.u16(),
                 static_cast<wire::DType>(in_.u8()),
                 static_cast<wire::ReduceOp>(in_.u8()),
                 static_cast<wire::Collective>(in_.u8()),
                 in_.flag(),
                 static_cast<wire::Encoding>(in_.u8()),
                 static_cast<std::int16_t>(in_.u16()),
                 in_.u16()};
    extensions.add(error);
  }
  deliver(h, extensions.bytes(), in_.block(h.element_count * wire::size_of(h.dtype)));
}

void Play::raw() {
  const auto packet = in_.block(in_.below(200));
  const auto parsed = wire::parse(packet);
  if (const auto* p = std::get_if<wire::Packet>(&parsed)) {
    // Results outside result() are not expected in any op's data.
    if (p->header.type != PacketType::result) session_.on_packet(*p, now_);
  }
}

void Play::step() {
  switch (in_.below(16)) {
    case 0:
    case 1: return poll();
    case 2:
    case 3: return submit();
    case 4: return start();
    case 5:
    case 6:
    case 7: return result();
    case 8: return answer(PacketType::pending);
    case 9: return answer(PacketType::unknown);
    case 10: now_ = now_ + Duration::us(in_.u16()); return;
    case 11:
      now_ = std::max(now_, std::min(session_.next_wakeup(), now_ + Duration::seconds(2)));
      return;
    case 12: return raw();
    case 13:
      return answer(in_.below(4) == 0 ? PacketType::nack
                    : in_.flag()      ? PacketType::ack
                                      : PacketType::pending);
    case 14:
      if (in_.below(8) == 0) answer(PacketType::abort);
      return;
    default:
      if (in_.below(16) == 0) session_.leave(now_);
  }
}

void Play::finish() {
  session_.leave(now_);
  take_finished();
  FUZZ_CHECK(finished_ == calls_.size());
  // Good-byes are bounded: no answer is needed.
  for (int tries = 0; session_.state() != SessionState::left; ++tries) {
    FUZZ_CHECK(tries < 10);
    session_.poll(now_, batch_);
    for (const auto& datagram : batch_.datagrams()) check_sent(datagram);
    if (session_.state() != SessionState::left) {
      FUZZ_CHECK(session_.next_wakeup() > now_);
      now_ = session_.next_wakeup();
    }
  }
  FUZZ_CHECK(session_.next_wakeup() == Instant::max());
}

}  // namespace
}  // namespace tributary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tributary::fuzz::Input in(data, size);
  tributary::fuzz::Play(in).run();
  return 0;
}
