#include "completion/host/root_host.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "core/wire/extension.h"

namespace tributary::completion {
namespace {

using aggregator::Outbox;
using aggregator::Outgoing;
using wire::PacketType;

// The aggregation engine's part is played by hand.
class RootHostTest : public ::testing::Test {
 protected:
  RootHostTest() {
    config::JobConfig job;
    job.id = 7;
    job.workers = 2;
    job.window = 4;
    job.deadline = Duration::ms(500);
    job.on_deadline = config::OnDeadline::abort;
    config_.jobs = {job};
    host_ = std::make_unique<RootHost>(config_);
  }

  Outgoing& want(PacketType type, Outgoing::To to, std::uint16_t epoch = 5) {
    Outgoing* o = box_.add();
    o->to = to;
    o->header.type = type;
    o->header.job = 7;
    o->header.epoch = epoch;
    return *o;
  }
  void want_start(std::uint16_t epoch, std::uint32_t first_seq = 100) {
    Outgoing& o = want(PacketType::start, Outgoing::To::peer, epoch);
    o.header.seq = first_seq;
    wire::StartInfo info;
    info.host_term = 9;
    info.workers = 2;
    wire::ExtensionWriter writer(o.extensions);
    writer.add(info);
    o.extension_bytes = writer.bytes().size();
  }
  void want_single(std::uint32_t rank, std::uint32_t seq, const std::int32_t& value,
                   std::uint16_t epoch = 5) {
    Outgoing& o = want(PacketType::contribution, Outgoing::To::completion_host, epoch);
    o.header.origin = rank;
    o.header.seq = seq;
    o.header.dtype = wire::DType::int32;
    o.header.element_count = 1;
    o.payload = std::as_bytes(std::span(&value, 1));
  }
  void exchange() {
    host_->exchange(box_, now_, [&](const wire::Packet& p) { return root(p); });
  }
  bool root(const wire::Packet& p) {
    heard_.push_back(p.header);
    if (p.header.type == PacketType::result) {
      std::memcpy(&result_, p.payload.data(), sizeof result_);
      terms_.push_back(wire::find_result_info(p.extensions)->host_term);
      // What a real one does: the result goes to the group.
      want(PacketType::result, Outgoing::To::job_group);
    }
    return accepts_;
  }

  config::SwitchConfig config_;
  std::unique_ptr<RootHost> host_;
  Outbox box_{16};
  Instant now_ = Instant::from_ns(1);
  bool accepts_ = true;
  std::vector<wire::Header> heard_;
  std::vector<std::uint32_t> terms_;
  std::int32_t result_ = 0;
  const std::int32_t three_ = 3;
  const std::int32_t four_ = 4;
};

TEST_F(RootHostTest, ResultsComeBackAndNothingStaysBehind) {
  want_start(5);
  want_start(5);
  want_single(0, 100, three_);
  want_single(1, 100, four_);
  exchange();
  ASSERT_EQ(heard_.size(), 1u);
  EXPECT_EQ(heard_[0].type, PacketType::result);
  EXPECT_EQ(result_, 7);
  EXPECT_EQ(terms_, std::vector<std::uint32_t>{9});
  EXPECT_EQ(box_.items().size(), 5u);  // with the root's own RESULT
  EXPECT_EQ(host_->engine().counters(0).bytes_held.get(), 0u);
}

TEST_F(RootHostTest, AResultThatTheRootCannotTakeIsKeptForAProbe) {
  accepts_ = false;
  want_start(5);
  want_single(0, 100, three_);
  want_single(1, 100, four_);
  exchange();
  EXPECT_NE(host_->engine().counters(0).bytes_held.get(), 0u);
  box_.clear();
  accepts_ = true;
  want(PacketType::probe, Outgoing::To::completion_host).header.seq = 100;
  exchange();
  ASSERT_EQ(heard_.size(), 2u);
  EXPECT_EQ(heard_[1].type, PacketType::result);
  EXPECT_EQ(host_->engine().counters(0).bytes_held.get(), 0u);
}

// The root's buffers are its own again as soon as it is called.
TEST_F(RootHostTest, AllMessagesAreHeardBeforeTheRootIsCalled) {
  want_start(5);
  std::vector<std::int32_t> values = {1, 10, 2, 20};
  for (std::uint32_t i = 0; i < 4; ++i) want_single(i % 2, 100 + i / 2, values[i]);
  std::vector<std::int32_t> results;
  host_->exchange(box_, now_, [&](const wire::Packet& p) {
    values.assign(4, 0);
    root(p);
    results.push_back(result_);
    return true;
  });
  EXPECT_EQ(results, (std::vector<std::int32_t>{11, 22}));
}

// Rule 1: an epoch begins with the first START of it and ends with the group's ABORT.
TEST_F(RootHostTest, FollowsTheEpochs) {
  want_single(0, 100, three_);
  exchange();
  EXPECT_EQ(host_->engine().counters(0).singles.get(), 0u);
  want_start(5);
  want_single(0, 100, three_);
  want_start(5);  // repeated: what is held stays
  exchange();
  EXPECT_EQ(host_->engine().counters(0).chunks_open.get(), 1u);
  box_.clear();
  want(PacketType::abort, Outgoing::To::peer);  // one rank is told again of an epoch before
  exchange();
  EXPECT_EQ(host_->engine().counters(0).chunks_open.get(), 1u);
  box_.clear();
  want(PacketType::abort, Outgoing::To::job_group);
  exchange();
  EXPECT_EQ(host_->engine().counters(0).chunks_open.get(), 0u);
  box_.clear();
  want_start(6, 200);
  want_single(0, 200, three_, 6);
  want_single(1, 200, four_, 5);
  exchange();
  EXPECT_EQ(host_->engine().counters(0).chunks_open.get(), 1u);
  EXPECT_EQ(host_->engine().counters(0).stale.get(), 1u);
}

TEST_F(RootHostTest, AnOverdueChunkIsTheRootsToAbort) {
  want_start(5);
  want_single(0, 100, three_);
  exchange();
  const auto heard = [&](const wire::Packet& p) { return root(p); };
  box_.clear();
  host_->expire(box_, now_ + Duration::ms(499), heard);
  EXPECT_TRUE(heard_.empty());
  host_->expire(box_, now_ + Duration::ms(500), heard);
  ASSERT_EQ(heard_.size(), 1u);
  EXPECT_EQ(heard_[0].type, PacketType::abort);
  EXPECT_EQ(heard_[0].reason, wire::Reason::deadline);
}

// What a tick brings forth is heard like the rest: the root's ABORT ends the epoch here too.
TEST_F(RootHostTest, HearsWhatComesOfItsDeadlines) {
  want_start(5);
  want_single(0, 100, three_);
  exchange();
  box_.clear();
  want_single(1, 101, four_);  // of the root's own tick
  host_->expire(box_, now_ + Duration::ms(500), [&](const wire::Packet& p) {
    if (p.header.type == PacketType::abort) want(PacketType::abort, Outgoing::To::job_group);
    return true;
  });
  EXPECT_EQ(host_->engine().counters(0).singles.get(), 2u);
  want_single(1, 100, four_);  // no epoch: unlike one that was aborted here, it has no answer
  host_->exchange(box_, now_, [&](const wire::Packet& p) { return root(p); });
  EXPECT_TRUE(heard_.empty());
}

TEST_F(RootHostTest, HostsOnlyJobsWhoseRootIsHere) {
  config_.jobs.push_back(config_.jobs[0]);
  config_.jobs[1].id = 8;
  config_.jobs[1].parent = config::ParentConfig{};
  EXPECT_EQ(RootHost(config_).engine().job_count(), 1u);
}

}  // namespace
}  // namespace tributary::completion
