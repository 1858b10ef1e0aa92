// Stages of a progress thread's time: each call is counted where it belongs, and nothing is lost.
#include "worker/transport/staged_transport.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>

namespace tributary::worker {
namespace {

std::uint64_t clock_ns() {
  return static_cast<std::uint64_t>(
      std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
}
void work() {
  for (const std::uint64_t end = clock_ns() + 200'000; clock_ns() < end;) {
  }
}

// Calls take a while; a receive brings three packets.
class SlowTransport : public Transport {
 public:
  void on_start(const wire::StartInfo&) override { started = true; }
  std::size_t send(std::span<const Datagram> batch) override {
    work();
    return batch.size() - 1;
  }
  std::size_t receive(const Receiver& receiver) override {
    work();
    for (int i = 0; i < 3; ++i) receiver(wire::Packet{});
    return 3;
  }
  void wait(Duration limit) override {
    work();
    limit_ = limit;
  }
  void wake() override { woken = true; }
  [[nodiscard]] std::size_t max_datagram_bytes() const override { return 1400; }
  [[nodiscard]] std::size_t max_cut_bytes() const override { return 9000; }
  [[nodiscard]] std::string silence_hint() const override { return "hint"; }
  [[nodiscard]] const DropCounters& drops() const override { return drops_; }
  [[nodiscard]] std::string describe() const override { return "slow"; }

  bool started = false;
  bool woken = false;
  Duration limit_;

 private:
  DropCounters drops_;
};

TEST(StagedTransportTimed, StagesAddUpToTheThreadsTime) {
  const auto counters = std::make_shared<StageCounters>();
  StagedTransport transport(std::make_unique<SlowTransport>(), counters);
  const std::uint64_t begin = clock_ns();
  const std::array<Datagram, 4> batch{};
  EXPECT_EQ(transport.send(batch), 3u);
  work();  // the session's
  EXPECT_EQ(transport.receive([](const wire::Packet&) { work(); }), 3u);
  transport.wait(Duration::ms(1));
  const std::uint64_t all = clock_ns() - begin;
  const StageCounters& s = *counters;
  EXPECT_EQ(s.sends.get(), 1u);
  EXPECT_EQ(s.datagrams.get(), 3u) << "what the transport took";
  EXPECT_EQ(s.receives.get(), 1u);
  EXPECT_EQ(s.packets.get(), 3u);
  EXPECT_EQ(s.waits.get(), 1u);
  constexpr std::uint64_t kCall = 200'000;
  EXPECT_GE(s.session_ns.get(), kCall);
  EXPECT_GE(s.send_ns.get(), kCall);
  EXPECT_GE(s.receive_ns.get(), kCall);
  EXPECT_GE(s.unpack_ns.get(), 3 * kCall);
  EXPECT_GE(s.wait_ns.get(), kCall);
  EXPECT_LE(s.session_ns.get() + s.send_ns.get() + s.receive_ns.get() + s.unpack_ns.get() +
                s.wait_ns.get(),
            all);
}

TEST(StagedTransportTimed, EverythingElseIsTheInnerTransports) {
  auto inner = std::make_unique<SlowTransport>();
  SlowTransport& slow = *inner;
  StagedTransport transport(std::move(inner), std::make_shared<StageCounters>());
  transport.on_start({});
  transport.wake();
  transport.wait(Duration::ms(3));
  EXPECT_TRUE(slow.started && slow.woken);
  EXPECT_EQ(slow.limit_, Duration::ms(3));
  EXPECT_EQ(transport.max_datagram_bytes(), 1400u);
  EXPECT_EQ(transport.max_cut_bytes(), 9000u);
  EXPECT_EQ(transport.silence_hint(), "hint");
  EXPECT_EQ(transport.describe(), "slow");
  EXPECT_EQ(&transport.drops(), &slow.drops());
}

}  // namespace
}  // namespace tributary::worker
