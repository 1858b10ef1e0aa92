// A4: a rank that brings task information, one that waits for it, and what a switch says about it.
#include <gmock/gmock.h>

#include "tests/worker/session_fixture.h"
#include "worker/agreement/open_job.h"

namespace tributary::worker {
namespace {

using ::testing::HasSubstr;
using wire::PacketType;
using wire::Reason;

class SessionOpenTest : public SessionTest {
 protected:
  void open(const OpenOptions& open, std::uint32_t rank = 1, std::uint32_t size = 4) {
    options.rank = rank;
    options.size = size;
    options.open.reset();
    take_open(open, options);
    create();
  }
  std::optional<wire::OpenJob> brought() {
    const auto joins = drain();
    if (joins.size() != 1) return std::nullopt;
    const auto found = wire::find_extension(joins[0].extensions, wire::ExtensionType::open_job);
    return found ? wire::read_open_job(*found) : std::nullopt;
  }
  void refuse(Reason why, std::uint32_t origin = 0, std::uint32_t slot = 0, std::uint32_t op = 0,
              std::uint32_t chunk = 0) {
    wire::Header h = from_switch(PacketType::nack);
    h.epoch = 0;
    h.reason = why;
    h.origin = origin;
    h.slot = slot;
    h.op = op;
    h.chunk = chunk;
    wire::ExtensionWriter w(room);
    w.add_nonce(kNonce);
    receive(h, &w);
  }
  std::string mistake(const OpenOptions& open, std::uint32_t size = 4) {
    options.size = size;
    try {
      take_open(open, options);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  }
};

TEST_F(SessionOpenTest, A4_InlineEveryRankBringsTheJob) {
  open({.by = Open::with_join, .units = 2, .nodes = 2});
  EXPECT_EQ(brought(), (wire::OpenJob{2, 2, 64, 1024}));
  open({.by = Open::with_join, .units = 2, .window = 32, .chunk_bytes = 8192}, 3);
  EXPECT_EQ(brought(), (wire::OpenJob{2, 2, 32, 8192}));
  open({.by = Open::with_join, .nodes = 4});
  EXPECT_EQ(brought(), (wire::OpenJob{1, 4, 64, 1024}));
  open({.by = Open::with_join});
  EXPECT_EQ(brought(), (wire::OpenJob{4, 1, 64, 1024}));
}

TEST_F(SessionOpenTest, A4_InAdvanceTheFirstUnitOfEachNodeDoes) {
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    open({.by = Open::control, .units = 2, .nodes = 2}, rank);
    EXPECT_EQ(brought().has_value(), rank % 2 == 0) << rank;
  }
  open({.by = Open::wait});
  EXPECT_FALSE(brought());
  open({});
  EXPECT_FALSE(brought());
}

TEST_F(SessionOpenTest, A4_ARankWaitsForTheJob) {
  open({.by = Open::wait});
  drain();
  refuse(Reason::unknown_job);
  EXPECT_EQ(session->state(), SessionState::joining);
  EXPECT_EQ(run_for(Duration::ms(150)).size(), 1u) << "it says JOIN again";
  refuse(Reason::unknown_job);
  run_for(options.join_timeout);
  ASSERT_EQ(session->state(), SessionState::failed);
  EXPECT_EQ(session->failure()->text,
            "job 1: timed out: not joined within the timeout of 60 s: the switch at udp://10.0.0.1 "
            "has no such job, and no rank has brought it, or not all nodes have");
  EXPECT_EQ(session->failure()->reason, Reason::unknown_job);
}

TEST_F(SessionOpenTest, A4_OtherRanksDoNotWait) {
  open({});
  drain();
  refuse(Reason::unknown_job);
  EXPECT_EQ(session->state(), SessionState::failed);
}

TEST_F(SessionOpenTest, A4_RefusalsNameSwitchAndFigures) {
  const auto text = [&](wire::OpenLimit what, std::uint32_t needed, std::uint32_t there) {
    open({.by = Open::with_join, .units = 2, .nodes = 2});
    drain();
    refuse(Reason::open_refused, static_cast<std::uint32_t>(what), 201, needed, there);
    return session->failure() ? session->failure()->text : "";
  };
  EXPECT_EQ(
      text(wire::OpenLimit::jobs, 17, 16),
      "job 1: the switch refused rank 1 of 4 (open-refused): with it, switch 201 would need 17 "
      "jobs that ranks open; there are 16 (switch.open_jobs)");
  EXPECT_THAT(text(wire::OpenLimit::slots, 128, 64), HasSubstr("need 128 slots"));
  EXPECT_THAT(text(wire::OpenLimit::kibibytes, 2000, 1024), HasSubstr("2000 KiB of memory"));
  EXPECT_THAT(text(wire::OpenLimit::nodes, 3, 2),
              HasSubstr("it has 3 nodes, and switch 201 can sum with 2"));
  EXPECT_THAT(text(wire::OpenLimit::other, 0, 0), HasSubstr("switch 201 has no room for it"));
  EXPECT_THAT(text(static_cast<wire::OpenLimit>(250), 0, 0), HasSubstr("no room for it"));
}

TEST_F(SessionOpenTest, A4_OtherTaskInformationIsNamedBesideOnesOwn) {
  open({.by = Open::with_join, .units = 2, .nodes = 2});
  drain();
  refuse(Reason::other_task, 4u << 16 | 1, 201, 32, 2048);
  EXPECT_EQ(
      session->failure()->text,
      "job 1: the switch refused rank 1 of 4 (other-task): switch 201 has opened it with units "
      "4, nodes 1, window 32, chunk_bytes 2048; this rank says units 2, nodes 2, window 64, "
      "chunk_bytes 1024");
}

TEST_F(SessionOpenTest, A4_OptionsThatNoJobHasAreRefused) {
  EXPECT_EQ(mistake({.by = Open::with_join, .units = 3, .nodes = 2}),
            "units 3 x nodes 2 are not the size, 4");
  EXPECT_EQ(mistake({.by = Open::with_join, .units = 3}), "units 3 x nodes 1 are not the size, 4");
  EXPECT_EQ(mistake({.by = Open::control, .units = 5}), "units 5 x nodes 0 are not the size, 4");
  EXPECT_THAT(mistake({.by = Open::with_join}, 1025), HasSubstr("allowed: at most 1024"));
  EXPECT_THAT(mistake({.by = Open::with_join, .window = 63}), HasSubstr("window 63; allowed"));
  EXPECT_THAT(mistake({.by = Open::with_join, .window = 8192}), HasSubstr("1 to 4096"));
  EXPECT_THAT(mistake({.by = Open::with_join, .chunk_bytes = 12}), HasSubstr("chunk_bytes 12"));
  EXPECT_THROW(open_of("inlin"), std::invalid_argument);
  EXPECT_EQ(open_of("control"), Open::control);
}

}  // namespace
}  // namespace tributary::worker
