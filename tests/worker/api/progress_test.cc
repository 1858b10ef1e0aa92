// The progress thread over a transport in the test's hands.
#include "worker/api/progress.h"

#include <gtest/gtest.h>

#include <chrono>
#include <deque>

#include "worker/api/plane_parts.h"

namespace tributary::worker {
namespace {

// A switch with one worker, inside the transport: every answer waits in a queue, one of which
// receive() hands over a call. After the first burst of data the thread stands still for longer
// than any timeout, as when others have its core.
class StallingTransport final : public Transport {
 public:
  static constexpr std::chrono::milliseconds kStall{60};

  void on_start(const wire::StartInfo&) override {}
  std::size_t send(std::span<const Datagram> batch) override {
    for (const Datagram& d : batch) {
      std::vector<std::byte> bytes(d.head.begin(), d.head.end());
      bytes.insert(bytes.end(), d.payload.begin(), d.payload.end());
      const auto parsed = wire::parse(bytes);
      answer(std::get<wire::Packet>(parsed));
    }
    return batch.size();
  }
  std::size_t receive(const Receiver& receiver) override {
    if (stall_) {
      stall_ = false;
      const auto end = std::chrono::steady_clock::now() + kStall;
      while (std::chrono::steady_clock::now() < end) std::this_thread::yield();
    }
    if (answers_.empty()) return 0;
    const auto bytes = std::move(answers_.front());
    answers_.pop_front();
    const auto parsed = wire::parse(bytes);
    receiver(std::get<wire::Packet>(parsed));
    return 1;
  }
  void wait(Duration) override { std::this_thread::yield(); }
  void wake() override {}
  [[nodiscard]] std::size_t max_datagram_bytes() const override { return 1472; }
  [[nodiscard]] const DropCounters& drops() const override { return drops_; }
  [[nodiscard]] std::string describe() const override { return "stalling"; }

 private:
  void answer(const wire::Packet& p) {
    wire::Header h = p.header;
    h.epoch = 1;
    h.origin = 0;
    std::array<std::byte, 64> room;
    wire::ExtensionWriter extensions(room);
    switch (p.header.type) {
      case wire::PacketType::join: {
        h.type = wire::PacketType::start;
        extensions.add_nonce(*wire::find_nonce(p.extensions));
        wire::StartInfo info;
        info.window = 32;
        info.chunk_bytes = 16;
        info.workers = 1;
        info.lease_ms = 60'000;
        info.shards = 2;
        extensions.add(info);
        break;
      }
      case wire::PacketType::contribution:
        h.type = wire::PacketType::result;
        h.flags &= wire::kFlagLast;
        stall_ = stall_ || (h.op == 1 && h.chunk == 0);
        break;
      case wire::PacketType::leave: h.type = wire::PacketType::ack; break;
      default: return;
    }
    std::vector<std::byte> bytes(256);
    bytes.resize(wire::serialize(h, extensions.bytes(), bytes));
    bytes.insert(bytes.end(), p.payload.begin(), p.payload.end());
    answers_.push_back(std::move(bytes));
  }

  std::deque<std::vector<std::byte>> answers_;
  bool stall_ = false;
  DropCounters drops_;
};

TEST(ProgressTimed, AThreadThatDidNotRunReadsItsPacketsBeforeItAsksForThem) {
  SessionOptions options;
  options.job = 1;
  options.size = 1;
  options.nonce = 5;
  Progress progress(std::make_unique<StallingTransport>(), options);
  while (!progress.wait_joined(Duration::seconds(1))) {
  }
  std::vector<std::int32_t> data(4 * 30, 7);
  // The first op gives the timers their samples.
  for (const std::size_t count : {4u, 4u * 30u}) {
    Op op;
    op.data = reinterpret_cast<std::byte*>(data.data());
    op.count = count;
    op.dtype = wire::DType::int32;
    const auto state = std::make_shared<Request::State>();
    split(op, 0, 1, progress.agreed().info, *state);
    progress.submit(state);
    Request request(state);
    request.wait();
  }
  EXPECT_EQ(progress.stats().results, 31u);
  EXPECT_EQ(progress.stats().probes, 0u);
}

}  // namespace
}  // namespace tributary::worker
