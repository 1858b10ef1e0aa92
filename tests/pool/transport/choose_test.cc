// The transports themselves: memory that is served, read and checked byte for byte (L2).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <vector>

#include "core/prng.h"
#include "pool/transport/transport.h"

namespace tributary::pool {
namespace {

struct Pages {
  explicit Pages(std::size_t bytes) : memory(bytes) {
    Prng prng(3);
    for (auto& b : memory) b = static_cast<std::byte>(prng.next());
  }
  std::vector<std::byte> memory;
};

class PoolTransport : public testing::TestWithParam<TransportKind> {};

TEST_P(PoolTransport, L2ReadsWhatIsThereWithHeaderAndDataApart) {
  Pages pages(8 << 20);
  const auto server = serve_memory(GetParam(), "127.0.0.1", pages.memory);
  EXPECT_EQ(server->memory().transport, GetParam());
  const auto domain = make_read_domain();
  const auto reader = domain->connect(server->memory());
  constexpr std::size_t kReads = 500;
  Prng prng(9);
  std::vector<std::vector<std::byte>> headers(kReads, std::vector<std::byte>(32));
  std::vector<std::vector<std::byte>> data(kReads);
  std::vector<std::uint64_t> offsets(kReads);
  std::size_t done = 0;
  const auto poll = [&] {
    std::vector<Completion> completions(16);
    const std::size_t got = reader->poll(completions);
    for (std::size_t i = 0; i < got; ++i) {
      ASSERT_TRUE(completions[i].good);
      const std::uint64_t n = completions[i].context;
      const auto expected = std::span(pages.memory).subspan(offsets[n]);
      ASSERT_TRUE(std::equal(headers[n].begin(), headers[n].end(), expected.begin()));
      ASSERT_TRUE(std::equal(data[n].begin(), data[n].end(), expected.begin() + 32));
    }
    done += got;
  };
  for (std::size_t n = 0; n < kReads; ++n) {
    data[n].resize(n % 7 == 0 ? 0 : 1 + prng.below(200'000));
    offsets[n] = prng.below(static_cast<std::uint32_t>(pages.memory.size() - data[n].size() - 32));
    while (!reader->post({offsets[n], headers[n], data[n], n})) poll();
  }
  while (done < kReads) poll();
  EXPECT_EQ(reader->in_flight(), 0u);
}

// Not of shm: there the kernel's rights to another process's memory decide, and no key.
TEST(PoolTransportTcp, L4WrongKeyReadsNothing) {
  Pages pages(1 << 20);
  const auto server = serve_memory(TransportKind::tcp, "127.0.0.1", pages.memory);
  RemoteMemory wrong = server->memory();
  wrong.key ^= 0x5555;
  const auto domain = make_read_domain();
  const auto reader = domain->connect(wrong);
  std::vector<std::byte> header(32);
  std::vector<std::byte> data(1000);
  bool refused = false;
  try {
    std::vector<Completion> completions(1);
    while (!reader->post({0, header, data, 1})) ASSERT_EQ(reader->poll(completions), 0u);
    while (reader->poll(completions) == 0) {
    }
    refused = !completions[0].good;
  } catch (const TransportError&) {
    refused = true;
  }
  EXPECT_TRUE(refused);
  EXPECT_EQ(data, std::vector<std::byte>(1000));
}

TEST_P(PoolTransport, AddressThatMeansNothingIsRefused) {
  RemoteMemory memory;
  memory.transport = GetParam();
  memory.address.resize(64);
  const auto domain = make_read_domain();
  bool refused = false;
  try {
    const auto reader = domain->connect(memory);
    std::vector<std::byte> header(32);
    std::vector<Completion> completions(1);
    while (!reader->post({0, header, {}, 1})) {
      if (reader->poll(completions) != 0) break;
    }
    while (reader->poll(completions) == 0) {
    }
    refused = !completions[0].good;
  } catch (const TransportError&) {
    refused = true;
  }
  EXPECT_TRUE(refused);
}

INSTANTIATE_TEST_SUITE_P(Libfabric, PoolTransport,
                         testing::Values(TransportKind::tcp, TransportKind::shm),
                         [](const auto& test) { return name_of(test.param); });

TEST(PoolTransportChoice, WithoutADeviceLoopbackIsSharedMemoryAndTheRestTcp) {
  EXPECT_EQ(choose_transport("127.0.0.1"), TransportKind::shm);
  EXPECT_EQ(choose_transport("192.0.2.1"), TransportKind::tcp);
}

TEST(PoolTransportChoice, VerbsWithoutADeviceSaysSo) {
  std::vector<std::byte> memory(4096);
  try {
    serve_memory(TransportKind::verbs, "127.0.0.1", memory);
    FAIL() << "an RDMA device at the loopback address";
  } catch (const TransportError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("verbs"));
  }
}

}  // namespace
}  // namespace tributary::pool
