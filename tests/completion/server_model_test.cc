// A job's model at its parameter server, from the ranks' packets to their results (T21): what a
// lost answer, a restart, a take-over and a new epoch do to it.
#include "tests/completion/remote_fixture.h"

namespace tributary::completion {
namespace {

using wire::Collective;
using wire::PacketType;
using wire::Reason;

class ServerModelTest : public RemoteFixture {
 protected:
  // Two arrays of a chunk each; with two shards, array 1's chunk is chunk 0 of its op, too.
  void build_with_model(std::uint8_t shards = 1) {
    join_with_model(shards);
    live(1);
  }
  // START is on its way.
  void join_with_model(std::uint8_t shards = 1) {
    optimizer_.kind = config::OptimizerKind::sgd;
    optimizer_.parameters = {2, 2};
    optimizer_.rate = 1;
    hosts_ = {"ps0"};
    build(false, shards);
    // One server: no other has the model.
    servers_[1].reset();
    live(1);
    join();
  }
  // With a root that names these hosts.
  void build_among(const std::vector<std::string>& hosts, bool root_too) {
    optimizer_.kind = config::OptimizerKind::sgd;
    optimizer_.parameters = {2, 2};
    hosts_ = hosts;
    build(root_too);
    live(1);
    join();
    live(1);
    const auto seats = servers_[0]->status(now_);
    ASSERT_EQ(seats.size(), 1u);
    EXPECT_FALSE(seats[0].serving);
    EXPECT_EQ(seats[0].objection, Objection::shared_model);
    EXPECT_EQ(servers_[0]->counters().refused.get(), 1u);
  }
  void send_from(std::uint32_t rank, Collective collective, std::uint32_t op, std::uint16_t array,
                 float v, std::uint32_t flags = 0) {
    wire::Header h = header(PacketType::contribution, rank);
    h.flags = wire::kFlagLast | flags;
    h.op = h.seq = op;
    h.covered = 1;
    h.dtype = wire::DType::float32;
    h.element_count = 2;
    h.collective = collective;
    std::array<std::byte, 16> room;
    wire::ExtensionWriter ext(room);
    ext.add_target_rank(array);
    const std::array values = {v, 2 * v};
    to_root({h, ext.bytes(), std::as_bytes(std::span(values))}, rank_peer(rank));
  }
  void send_all(Collective collective, std::uint32_t op, std::uint16_t array, float v) {
    for (std::uint32_t r = 0; r < kWorkers; ++r) send_from(r, collective, op, array, v);
  }
  void open_both() {
    send_all(Collective::open, 0, 0, 10);
    send_all(Collective::open, 1, 1, 20);
    settle();
    ASSERT_EQ(results_.size(), 2u);
  }
  [[nodiscard]] std::array<float, 2> last_result() const {
    std::array<float, 2> v{};
    std::memcpy(v.data(), results_.back().payload.data(), sizeof v);
    return v;
  }
  [[nodiscard]] const Model& model() { return *servers_[0]->model(0); }
  // The epoch has ended, and says why.
  void expect_lost() const {
    ASSERT_FALSE(told_.empty());
    EXPECT_EQ(told_.back().type, PacketType::abort);
    EXPECT_EQ(told_.back().reason, Reason::model_lost);
  }
  // A server that was restarted after the first array was opened does not open the second.
  void expect_the_rest_is_refused() {
    live(5);
    told_.clear();
    send_all(Collective::open, 1, 1, 20);
    settle();
    EXPECT_EQ(results_.size(), 1u);
    expect_lost();
  }
  void ask_again(std::uint32_t op) {
    for (std::uint32_t r = 0; r < kWorkers; ++r) probe(r, op);
  }
  // Op 2's result was lost: the ranks ask, send again what they are asked for, and get what was
  // made the first time.
  void expect_the_update_on_asking() {
    for (int i = 0; i < 4 && results_.size() == 2; ++i) {
      ask_again(2);
      settle();
      for (const wire::Header& h : std::exchange(told_, {}))
        if (h.type == PacketType::unknown && h.op == 2)
          send_from(h.origin, Collective::update, 2, 0, 1, wire::kFlagResend);
      settle();
    }
    ASSERT_EQ(results_.size(), 3u);
    EXPECT_EQ(last_result(), (std::array{27.0f, 54.0f}));
    EXPECT_EQ(model().counters().updates.get(), 1u);
  }
};

TEST_F(ServerModelTest, ResultsAreParametersAndSaySo) {
  build_with_model();
  open_both();
  EXPECT_EQ(last_result(), (std::array{60.0f, 120.0f}));
  send_all(Collective::update, 2, 0, 1);
  settle();
  ASSERT_EQ(results_.size(), 3u);
  EXPECT_EQ(last_result(), (std::array{27.0f, 54.0f}));
  EXPECT_NE(results_.back().header.flags & wire::kFlagParams, 0u);
  EXPECT_NE(results_.back().header.flags & wire::kFlagVerified, 0u);
  EXPECT_EQ(results_.back().header.collective, Collective::update);
}

// T8: applied once, though its answer is lost and the ranks ask again.
TEST_F(ServerModelTest, ALostAnswerIsTheStoredOne) {
  build_with_model();
  open_both();
  send_all(Collective::update, 2, 0, 1);
  arrive_once();  // as far as the server
  ASSERT_TRUE(take(PacketType::result));
  EXPECT_EQ(results_.size(), 2u);
  expect_the_update_on_asking();
}

// The root takes the server for dead, and appoints it anew: the same epoch, another term.
TEST_F(ServerModelTest, ANewTermAnswersWithWhatIsStored) {
  build_with_model();
  open_both();
  send_all(Collective::update, 2, 0, 1);
  arrive_once();  // as far as the server
  wire_.clear();
  for (int i = 0; i < 700; ++i) {  // nothing from the server arrives
    tick(Duration::ms(1));
    wire_.clear();
  }
  live(700);
  EXPECT_GT(seat().term, 1u);
  expect_the_update_on_asking();
  EXPECT_EQ(model().counters().repeated.get(), 1u);
}

// A server that comes back with nothing may not step anything: the epoch ends, and says why.
TEST_F(ServerModelTest, ARestartedServerRefusesTheUpdate) {
  build_with_model();
  open_both();
  boot(0);
  live(5);
  EXPECT_GT(seat().term, 1u);
  told_.clear();
  send_all(Collective::update, 2, 0, 1);
  settle();
  EXPECT_EQ(results_.size(), 2u);
  expect_lost();
  EXPECT_EQ(model().counters().refused.get(), 1u);
  EXPECT_EQ(servers_[0]->engine(0).counters(0).aborts_model.get(), 1u);
}

// Ranks would get one half of a model and one half of another.
TEST_F(ServerModelTest, ARestartedServerDoesNotOpenTheRest) {
  build_with_model();
  send_all(Collective::open, 0, 0, 10);
  settle();
  ASSERT_EQ(results_.size(), 1u);
  boot(0);
  expect_the_rest_is_refused();
}

// Before the root has noticed: its heartbeat does not seat the server again under the same term.
TEST_F(ServerModelTest, NorBeforeItsRestartIsNoticed) {
  build_with_model();
  send_all(Collective::open, 0, 0, 10);
  settle();
  std::optional<Flying> start;
  while (!start) {
    tick(Duration::ms(1));
    for (const Flying& f : wire_)
      if (f.to == 0 && f.header.type == PacketType::start) start = f;
    settle();
  }
  boot(0);
  arrive(*start);
  EXPECT_EQ(servers_[0]->counters().stale_terms.get(), 1u);
  EXPECT_EQ(servers_[0]->counters().starts.get(), 0u);
  expect_the_rest_is_refused();
}

// The first START of the epoch says that no server has answered yet; a copy that comes late must
// not tell that to a server that was started since.
TEST_F(ServerModelTest, AFirstStartThatComesLateIsNotForTheNextIncarnation) {
  join_with_model();
  std::optional<Flying> first;
  for (const Flying& f : wire_)
    if (f.to == 0 && f.header.type == PacketType::start) first = f;
  ASSERT_TRUE(first);
  EXPECT_EQ(first->header.flags & wire::kFlagResend, 0u);
  settle();
  send_all(Collective::open, 0, 0, 10);
  settle();
  ASSERT_EQ(results_.size(), 1u);
  boot(0);
  arrive(*first);
  EXPECT_EQ(servers_[0]->counters().starts.get(), 0u);
  expect_the_rest_is_refused();
}

// Another server that takes over has no such model, and may not answer with sums either.
TEST_F(ServerModelTest, WhoHasNoModelRefusesToo) {
  build(false);
  live(1);
  join();
  live(1);
  told_.clear();
  send_all(Collective::open, 0, 0, 10);
  settle();
  EXPECT_TRUE(results_.empty());
  expect_lost();
}

// Its step is 0, none, and what ranks say of their run is theirs: the epoch goes on.
TEST_F(ServerModelTest, WhoHasNoModelAnswersTheQuestionForItsStep) {
  build(false);
  live(1);
  join();
  live(1);
  told_.clear();
  for (std::uint32_t rank = 0; rank < kWorkers; ++rank) {
    wire::Header h = header(PacketType::contribution, rank);
    h.flags = wire::kFlagLast;
    h.covered = 1;
    h.dtype = wire::DType::uint32;
    h.element_count = 1;
    h.collective = Collective::open;
    std::array<std::byte, 16> room;
    wire::ExtensionWriter ext(room);
    ext.add_target_rank(wire::kModelStep);
    const std::uint32_t none = 0;
    to_root({h, ext.bytes(), std::as_bytes(std::span(&none, 1))}, rank_peer(rank));
  }
  settle();
  ASSERT_EQ(results_.size(), 1u);
  EXPECT_NE(results_[0].header.flags & wire::kFlagParams, 0u);
  EXPECT_EQ(results_[0].payload, std::vector<std::byte>(4));
  EXPECT_TRUE(std::none_of(told_.begin(), told_.end(),
                           [](const auto& h) { return h.type == PacketType::abort; }));
}

// The server's own file does not say whom the root's names: with others beside it the model would
// be in pieces.
TEST_F(ServerModelTest, AModelIsNotSharedWithAnotherServer) {
  build_among({"ps0", "ps1"}, false);
  EXPECT_EQ(host_->remote()->counters(0).refusals.get(), 2u) << "nor does the other share its own";
}
TEST_F(ServerModelTest, AModelIsNotSharedWithTheRoot) {
  build_among({"ps0"}, true);
  EXPECT_EQ(host_->remote()->counters(0).refusals.get(), 1u);
}

// Half a step is applied when a rank dies: the next epoch begins with the whole step before it.
TEST_F(ServerModelTest, TheNextEpochBeginsAtAWholeStep) {
  build_with_model();
  open_both();
  send_all(Collective::update, 2, 0, 1);
  send_all(Collective::update, 3, 1, 1);
  send_all(Collective::update, 4, 0, 1);
  settle();
  ASSERT_EQ(results_.size(), 5u);
  EXPECT_EQ(last_result(), (std::array{24.0f, 48.0f}));
  join();  // all ranks anew
  live(1);
  EXPECT_EQ(model().step(), 1u);
  results_.clear();
  open_both();
  EXPECT_EQ(model().counters().taken_back.get(), 1u);
  EXPECT_EQ(last_result(), (std::array{57.0f, 114.0f}));
  results_.clear();
  send_all(Collective::update, 2, 0, 1);
  settle();
  EXPECT_EQ(last_result(), (std::array{24.0f, 48.0f}));
}

// A sum that claims to be parameters, or parameters that are no answer to their like.
TEST_F(ServerModelTest, TheRootTakesNothingElseForParameters) {
  build_with_model();
  open_both();
  send_all(Collective::update, 2, 0, 1);
  arrive_once();  // as far as the server
  auto result = take(PacketType::result);
  ASSERT_TRUE(result);
  result->header.flags &= ~std::uint32_t{wire::kFlagParams};
  arrive(*result);
  EXPECT_EQ(results_.size(), 2u);
  result->header.flags |= wire::kFlagParams;
  arrive(*result);
  EXPECT_EQ(results_.size(), 3u);
}

}  // namespace
}  // namespace tributary::completion
