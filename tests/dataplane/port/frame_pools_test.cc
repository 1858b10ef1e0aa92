// Pools on two sockets, of which DPDK's own heap is one, and another heap the other: what is shown
// is whose buffers go where and that all come back, not how fast.
#include "dataplane/port/frame_pools.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rte_malloc.h>

#include "config/plan/memory_plan.h"
#include "tests/dataplane/fragments.h"
#include "tests/dataplane/job_ranks.h"
#include "tests/dataplane/l2_frame.h"

namespace tributary::dataplane {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Lcore 0, ports 0, 2... on socket 0, lcore 1, ports 1, 3... on the other one.
config::Machine apart() {
  const int other = other_socket();
  return {{0, other}, {0, other, 0, other}};
}

config::SwitchConfig two_sockets(std::size_t ports = 4) {
  auto config = two_lcores(ports);
  config.memory.hugepages = true;  // as far as plans go
  return config;
}

std::vector<unsigned> in_use(RingSwitch& sw) {
  std::vector<unsigned> out;
  for (const auto& pool : sw.pools()) out.push_back(rte_mempool_in_use_count(pool->get()));
  return out;
}

// Sockets of the buffers of frames that left through a port; they are freed.
std::vector<int> sockets_of(RingSwitch& sw, std::size_t port) {
  std::vector<int> out;
  for (rte_mbuf* frame : sw.sent_buffers(port)) {
    out.push_back(frame->pool->socket_id == other_socket());
    rte_pktmbuf_free(frame);
  }
  return out;
}

void settle(RingSwitch& sw) {
  for (int i = 0; i < 6; ++i) sw.turn();
}

class Lines {
 public:
  FramePools::Report report() {
    return [this](const std::string& line) { lines.push_back(line); };
  }
  std::vector<std::string> lines;
};

TEST(FramePoolsTimed, OneOnEachSocketAsPlanned) {
  start_test_eal();
  Lines lines;
  const auto config = two_sockets();
  const FramePools pools(config, apart(), lines.report());
  ASSERT_EQ(pools.size(), 2u);
  const auto& plan = pools.plan();
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(pools[i].socket(), i == 0 ? 0 : other_socket());
    EXPECT_EQ(rte_malloc_heap_socket_is_external(pools[i].get()->socket_id), static_cast<int>(i));
    EXPECT_EQ(pools[i].get()->size, plan.pools[i].buffers);
    EXPECT_EQ(pools[i].free_buffers(), plan.pools[i].buffers);
    const rte_mempool& pool = *pools[i].get();
    bytes += std::size_t{pool.size} * (pool.header_size + pool.elt_size + pool.trailer_size);
  }
  EXPECT_LE(bytes + 2 * config::kRuntimeBytes, std::size_t{config.memory.megabytes} << 20);
  EXPECT_EQ(pools.buffers(), plan.pools[0].buffers + plan.pools[1].buffers);
  EXPECT_EQ(pools.of_lcore(1), pools[1].get());
  EXPECT_THAT(pools.of_port(2, plan), ElementsAre(pools[0].get()));
  EXPECT_THAT(lines.lines, IsEmpty());
}

// The plan is for more than the other socket has: a smaller pool, then none.
TEST(FramePoolsTimed, AShortSocketHasASmallerPool) {
  start_test_eal();
  Lines lines;
  auto config = two_sockets();
  config.memory.megabytes = 4096;
  config.ports[1].queues = 6;
  const FramePools pools(config, apart(), lines.report());
  ASSERT_EQ(pools.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_GE(pools[i].buffers(), pools.plan().pools[i].least);
    EXPECT_EQ(pools[i].buffers(), pools.plan().pools[i].buffers);
  }
  EXPECT_EQ(pools[0].buffers(), pools.plan().pools[0].wanted);
  EXPECT_LT(pools[1].buffers(), pools.plan().pools[1].wanted);
  const std::string socket = config::socket_name(other_socket());
  EXPECT_THAT(lines.lines,
              ElementsAre(AllOf(HasSubstr("on socket " + socket + ": wanted"), HasSubstr("got"))));
}

TEST(FramePoolsTimed, ASocketWithoutMemoryHasNone) {
  start_test_eal();
  Lines lines;
  auto config = two_sockets();
  config.memory.megabytes = 4096;
  config.memory.spare_queues = 20;  // more than there is there
  const FramePools pools(config, apart(), lines.report());
  ASSERT_EQ(pools.size(), 1u);
  EXPECT_EQ(pools[0].socket(), 0);
  const std::string socket = config::socket_name(other_socket());
  EXPECT_THAT(lines.lines, Contains(AllOf(HasSubstr("on socket " + socket), HasSubstr("wanted"),
                                          HasSubstr("got none: other pools stand in"))));
  EXPECT_EQ(pools.of_lcore(1), pools[0].get());
}

TEST(FramePoolsTimed, MemoryThatIsNowhereEndsTheStart) {
  start_test_eal();
  auto config = two_sockets();
  config.memory.megabytes = 4096;
  config.memory.spare_queues = 400;
  Lines lines;
  try {
    const FramePools pools(config, apart(), lines.report());
    ADD_FAILURE() << "no error";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("packet buffers of"), HasSubstr("on socket any")));
  }
}

// C1: what comes in on one socket leaves through a port of the other, and is the first one's again.
TEST(TwoPoolsTimed, FramesCrossAndGoHome) {
  RingSwitch sw(two_sockets(), apart());
  sw.inject(1, l2_frame(kEverybody, host(2)));
  settle(sw);
  for (std::size_t port = 0; port < 4; ++port) sockets_of(sw, port);
  ASSERT_THAT(in_use(sw), ElementsAre(0u, 0u));
  for (int i = 0; i < 100; ++i) {
    sw.inject(0, l2_frame(host(2), host(1)));
    EXPECT_THAT(in_use(sw), ElementsAre(1u, 0u));
    settle(sw);
    EXPECT_THAT(sockets_of(sw, 1), ElementsAre(0));
    sw.inject(1, l2_frame(host(1), host(2)));
    settle(sw);
    EXPECT_THAT(sockets_of(sw, 0), ElementsAre(1));
  }
  // A broadcast, and in pieces.
  sw.inject(1, l2_frame(kEverybody, host(2), 1000), 3);
  settle(sw);
  for (const std::size_t port : {0u, 2u, 3u}) EXPECT_THAT(sockets_of(sw, port), ElementsAre(1));
  EXPECT_THAT(in_use(sw), ElementsAre(0u, 0u));
}

TEST(TwoPoolsTimed, MixedBurstsAreDroppedWithoutALoss) {
  RingSwitch sw(two_sockets(), apart());
  for (int i = 0; i < 64; ++i)
    for (std::size_t port = 0; port < 4; ++port) {
      sw.inject(port, l2_frame(kEverybody, host(static_cast<std::uint8_t>(port + 1))));
      sw.inject(port, Bytes(20));  // too short
      if (i % 16 == 15) settle(sw);
    }
  settle(sw);
  EXPECT_THAT(in_use(sw), testing::Each(testing::Gt(0u))) << "they wait in the rings";
  for (std::size_t port = 0; port < 4; ++port) sockets_of(sw, port);
  EXPECT_THAT(in_use(sw), ElementsAre(0u, 0u));
}

// T1: a sum is the same; what a loop makes of it is its own socket's.
TEST(TwoPoolsTimed, ResultsAreOfTheLcoresPool) {
  for (const std::uint32_t job : {4u, 5u}) {
    auto config = two_sockets(2);
    config.jobs = {job_of(job)};
    RingSwitch sw(config, apart());
    JobRanks ranks(sw, job);
    ASSERT_TRUE(ranks.join());
    for (std::uint32_t rank = 0; rank < 2; ++rank) sockets_of(sw, rank);
    for (std::uint32_t rank = 0; rank < 2; ++rank)
      sw.inject(rank, ranks[rank].contribution(0, std::array{7}));
    settle(sw);
    for (std::size_t port = 0; port < 2; ++port)
      EXPECT_THAT(sockets_of(sw, port), ElementsAre(static_cast<int>(job % 2)));
    EXPECT_THAT(in_use(sw), ElementsAre(0u, 0u));
  }
}

TEST(TwoPoolsTimed, APortThatComesFillsBuffersOfItsSocket) {
  auto file = two_sockets();
  file.memory.megabytes = 64;
  for (std::size_t i = 0; i < 4; ++i) file.ports[i].devargs += std::to_string(i);
  RingSwitch sw(file, apart());
  file.ports.push_back({"new", "net_ring_new", 1500});
  file.ports.back().lcores = {0};
  auto ports = apart().ports;
  ports.push_back(other_socket());
  sw.place(ports);
  sw.reload(file);
  EXPECT_THAT(sw.pools().of_port(4, sw.pools().plan()), ElementsAre(sw.pools()[1].get()));
  sw.inject(4, l2_frame(kEverybody, host(9)));
  EXPECT_THAT(in_use(sw), ElementsAre(0u, 1u));
  settle(sw);
  for (std::size_t port = 0; port < 4; ++port) EXPECT_THAT(sockets_of(sw, port), ElementsAre(1));
  file.ports.pop_back();
  sw.reload(file);
  settle(sw);
  EXPECT_THAT(in_use(sw), ElementsAre(0u, 0u));
}

// A tag that is put on in a copy, since others have the frame, too: the copy is the loop's.
TEST(TwoPoolsTimed, CopiesAreOfTheLoopThatMakesThem) {
  auto config = two_sockets();
  for (const std::size_t port : {0u, 1u})
    config.ports[port].vlan = {config::VlanMode::access, 10, {}, {}};
  config.ports[2].vlan = {config::VlanMode::trunk, {}, {}, {}};
  const int other = other_socket();
  RingSwitch sw(config, {{0, other}, {other, other, 0, other}});  // lcore 0 polls port 0 from afar
  sw.inject(0, l2_frame(kEverybody, host(1), 60));
  settle(sw);
  EXPECT_THAT(sockets_of(sw, 1), ElementsAre(1));
  EXPECT_THAT(sockets_of(sw, 2), ElementsAre(0));
  sockets_of(sw, 3);
  EXPECT_THAT(in_use(sw), ElementsAre(0u, 0u));
}

// C1: what is put together, and what is cut, is the loop's; the fragments go home.
TEST(TwoPoolsTimed, FragmentsAndWholesGoHome) {
  constexpr std::uint32_t kJob = 4;  // lcore 0's
  constexpr std::size_t kElements = 900;
  auto config = two_sockets(2);
  config.memory.megabytes = 64;
  config.fragments.datagrams = 8;
  config.jobs = {job_of(kJob)};
  config.jobs[0].chunk_bytes = 4 * kElements;
  RingSwitch sw(config, {{0, 0}, {other_socket(), other_socket()}});
  JobRanks ranks(sw, kJob);
  ASSERT_TRUE(ranks.join());
  for (std::uint32_t rank = 0; rank < 2; ++rank) sockets_of(sw, rank);
  ASSERT_THAT(in_use(sw), ElementsAre(0u, 0u));
  const std::vector<std::int32_t> values(kElements, 3);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    const auto pieces = cut(ranks[rank].contribution(0, std::span(values)), 7);
    ASSERT_EQ(pieces.size(), 3u);
    sw.inject(rank, pieces[0]);
    settle(sw);
    EXPECT_THAT(in_use(sw), ElementsAre(1u, 0u)) << "a whole to be, and the fragment is home";
    for (const std::size_t piece : {1u, 2u}) sw.inject(rank, pieces[piece]);
    settle(sw);
  }
  for (std::size_t port = 0; port < 2; ++port)
    EXPECT_THAT(sockets_of(sw, port), ElementsAre(0, 0, 0)) << "a result in pieces";
  EXPECT_THAT(in_use(sw), ElementsAre(0u, 0u));
}

}  // namespace
}  // namespace tributary::dataplane
