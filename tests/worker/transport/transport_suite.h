// What every transport does, whatever carries its datagrams: the session relies on it. The other
// end returns all that comes, byte for byte. Instantiated for UDP and RDMA in worker_test, for
// memif in worker_memif_test.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/prng.h"
#include "worker/transport/transport.h"

namespace tributary::worker {

// A transport and the other end of it.
class TransportEnd {
 public:
  TransportEnd() = default;
  virtual ~TransportEnd() = default;
  TransportEnd(const TransportEnd&) = delete;
  TransportEnd& operator=(const TransportEnd&) = delete;

  virtual Transport& transport() = 0;
  // Returns what has come, unless the end does so by itself.
  virtual void echo() {}
};
struct TransportKind {
  std::string name;
  std::function<std::unique_ptr<TransportEnd>()> make;
};

class TransportSuiteTimed : public testing::TestWithParam<TransportKind> {
 protected:
  static constexpr std::size_t kMostElements = 2000;

  struct Sample {
    std::vector<std::byte> head;
    std::vector<std::byte> payload;
    [[nodiscard]] Datagram datagram() const { return {head, payload}; }
  };
  Sample sample(std::uint32_t seq, std::size_t elements) {
    Sample s;
    s.payload.resize(elements * 4);
    for (auto& b : s.payload) b = static_cast<std::byte>(random_.next());
    wire::Header h;
    h.type = wire::PacketType::result;
    h.seq = seq;
    h.dtype = elements == 0 ? wire::DType::none : wire::DType::int32;
    h.element_count = static_cast<std::uint16_t>(elements);
    s.head.resize(wire::serialized_bytes(0));
    wire::serialize(h, {}, s.head);
    return s;
  }
  [[nodiscard]] std::size_t most_elements() {
    return std::min(kMostElements,
                    (transport().max_datagram_bytes() - wire::serialized_bytes(0)) / 4);
  }
  // Until so many have been delivered or dropped.
  void receive(std::size_t count, const Transport::Receiver& receiver) {
    const std::uint64_t dropped = transport().drops().total();
    std::size_t delivered = 0;
    const Transport::Receiver counting = [&](const wire::Packet& packet) {
      ++delivered;
      receiver(packet);
    };
    end_->echo();
    while (delivered + (transport().drops().total() - dropped) < count) {
      if (transport().receive(counting) != 0) continue;
      end_->echo();
      transport().wait(Duration::ms(10));
    }
  }
  Transport& transport() { return end_->transport(); }

  std::unique_ptr<TransportEnd> end_ = GetParam().make();
  Prng random_{20261130};
};

TEST_P(TransportSuiteTimed, EveryByteArrivesAtEverySize) {
  std::vector<Sample> samples;
  for (const std::size_t elements :
       {std::size_t{0}, std::size_t{1}, std::size_t{63}, std::size_t{200}, most_elements()})
    samples.push_back(sample(static_cast<std::uint32_t>(samples.size()), elements));
  for (const Sample& s : samples)
    ASSERT_EQ(transport().send(std::array{s.datagram()}), 1u) << s.payload.size();
  std::size_t next = 0;
  receive(samples.size(), [&](const wire::Packet& packet) {
    ASSERT_LT(next, samples.size());
    EXPECT_EQ(packet.header.seq, next);
    EXPECT_EQ(std::vector(packet.payload.begin(), packet.payload.end()), samples[next].payload);
    ++next;
  });
  EXPECT_EQ(next, samples.size());
  EXPECT_EQ(transport().drops().total(), 0u);
  EXPECT_EQ(transport().failure(), "");
}

// A full queue takes a prefix, and the rest later: many times what it holds.
TEST_P(TransportSuiteTimed, ManyArriveInOrder) {
  constexpr std::uint32_t kCount = 5000;
  constexpr std::uint32_t kAtOnce = 64;
  for (std::uint32_t first = 0; first < kCount; first += kAtOnce) {
    std::vector<Sample> samples;
    std::vector<Datagram> batch;
    for (std::uint32_t i = 0; i < kAtOnce; ++i) samples.push_back(sample(first + i, 4));
    for (const Sample& s : samples) batch.push_back(s.datagram());
    for (std::span<const Datagram> left = batch; !left.empty();)
      left = left.subspan(transport().send(left));
    std::uint32_t next = first;
    receive(kAtOnce, [&](const wire::Packet& packet) { EXPECT_EQ(packet.header.seq, next++); });
  }
  EXPECT_EQ(transport().drops().total(), 0u);
}

TEST_P(TransportSuiteTimed, WhatIsNoPacketIsCounted) {
  Sample bad = sample(0, 4);
  bad.head[0] = std::byte{9};
  ASSERT_EQ(transport().send(std::array{bad.datagram()}), 1u);
  receive(1, [](const wire::Packet&) { ADD_FAILURE(); });
  EXPECT_EQ(transport().drops().get(DropReason::bad_version), 1u);
}

TEST_P(TransportSuiteTimed, WakeEndsTheNextWait) {
  transport().wake();
  transport().receive([](const wire::Packet&) {});  // does not consume it
  transport().wait(Duration::seconds(3600));
  std::thread waker([&] { transport().wake(); });
  transport().wait(Duration::seconds(3600));
  waker.join();
}

TEST_P(TransportSuiteTimed, DescribesItself) {
  EXPECT_NE(transport().describe().find("switch"), std::string::npos) << transport().describe();
}

inline std::string name_of_kind(const testing::TestParamInfo<TransportKind>& info) {
  return info.param.name;
}

}  // namespace tributary::worker
