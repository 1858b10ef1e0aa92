// How ops on a model are numbered over epochs (docs/protocol/hosts.md), with a switch and its
// parameter server in the test's hands: one rank, and time that stands still between turns.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "core/wire/drain.h"
#include "core/wire/model_run.h"
#include "worker/api/plane_parts.h"
#include "worker/api/progress.h"

namespace tributary::worker {
namespace {

// Answers each contribution with itself, and keeps the numbers that a server would give to updates.
class ModelSwitch final : public Transport {
 public:
  bool answers_updates = true;
  std::vector<std::uint64_t> updates;
  std::size_t questions = 0;
  std::uint16_t epoch = 1;

  void drain() { say(wire::PacketType::lease, wire::Drain{wire::DrainStep::ask, 7, 0, 1}); }
  void abort() {
    say(wire::PacketType::abort, {});
    ++epoch;
  }

  void on_start(const wire::StartInfo&) override {}
  std::size_t send(std::span<const Datagram> batch) override {
    for (const Datagram& d : batch) {
      std::vector<std::byte> bytes(d.head.begin(), d.head.end());
      bytes.insert(bytes.end(), d.payload.begin(), d.payload.end());
      const auto parsed = wire::parse(bytes);
      take(std::get<wire::Packet>(parsed));
    }
    return batch.size();
  }
  std::size_t receive(const Receiver& receiver) override {
    if (answers_.empty()) return 0;
    const auto bytes = std::move(answers_.front());
    answers_.pop_front();
    const auto parsed = wire::parse(bytes);
    receiver(std::get<wire::Packet>(parsed));
    return 1;
  }
  void wait(Duration) override {}
  void wake() override {}
  [[nodiscard]] std::size_t max_datagram_bytes() const override { return 1472; }
  [[nodiscard]] const DropCounters& drops() const override { return drops_; }
  [[nodiscard]] std::string describe() const override { return "model switch"; }

 private:
  void take(const wire::Packet& p) {
    switch (p.header.type) {
      case wire::PacketType::join: return start(p);
      case wire::PacketType::contribution: return sum(p);
      case wire::PacketType::lease:
        if (const auto said = wire::find_drain(p.extensions);
            said && said->step == wire::DrainStep::answer) {
          say(wire::PacketType::lease, wire::Drain{wire::DrainStep::end, said->id, said->op, 1});
          ++epoch;
        }
        return;
      default: return;
    }
  }
  void start(const wire::Packet& p) {
    std::array<std::byte, 64> room;
    wire::ExtensionWriter extensions(room);
    extensions.add_nonce(*wire::find_nonce(p.extensions));
    wire::StartInfo info;
    info.window = 32;
    info.chunk_bytes = 64;
    info.workers = 1;
    info.lease_ms = 60'000;
    info.shards = 1;
    extensions.add(info);
    wire::Header h = p.header;
    h.type = wire::PacketType::start;
    answer(h, extensions, {});
  }
  void sum(const wire::Packet& p) {
    wire::Header h = p.header;
    if (h.collective == wire::Collective::open && h.dtype == wire::DType::uint32) {
      wire::ModelRunWords words;
      std::memcpy(words.data(), p.payload.data(), sizeof words);
      told_ = wire::model_run_of(words).next;
      question_ = h.op;
      ++questions;
    }
    if (h.collective == wire::Collective::update) {
      updates.push_back(told_ + h.op - question_);
      if (!answers_updates) return;
    }
    h.type = wire::PacketType::result;
    h.flags &= wire::kFlagLast;
    if (wire::concerns_model(h.collective)) h.flags |= wire::kFlagParams;
    std::array<std::byte, 8> room;
    answer(h, wire::ExtensionWriter(room), p.payload);
  }
  void say(wire::PacketType type, const std::optional<wire::Drain>& drain) {
    std::array<std::byte, 64> room;
    wire::ExtensionWriter extensions(room);
    if (drain) wire::add_drain(extensions, *drain);
    wire::Header h;
    h.type = type;
    h.job = 1;
    h.fan_in = 1;
    if (type == wire::PacketType::abort) h.reason = wire::Reason::shutdown;
    answer(h, extensions, {});
  }
  void answer(wire::Header h, const wire::ExtensionWriter& extensions,
              std::span<const std::byte> payload) {
    h.epoch = epoch;
    h.origin = 0;
    std::vector<std::byte> bytes(256);
    bytes.resize(wire::serialize(h, extensions.bytes(), bytes));
    bytes.insert(bytes.end(), payload.begin(), payload.end());
    answers_.push_back(std::move(bytes));
  }

  std::uint64_t told_ = 0;
  std::uint32_t question_ = 0;
  std::deque<std::vector<std::byte>> answers_;
  DropCounters drops_;
};

class ModelOps : public ::testing::Test {
 protected:
  using State = std::shared_ptr<Request::State>;

  void join(const std::optional<Progress::RetryOptions>& retry) {
    auto transport = std::make_unique<ModelSwitch>();
    switch_ = transport.get();
    SessionOptions options;
    options.job = 1;
    options.size = 1;
    options.nonce = 5;
    options.op_timeout = options.join_timeout = Duration::seconds(30);
    progress_ = std::make_unique<Progress>(std::move(transport), options, retry, now_);
    turn_until([&] { return progress_->wait_joined(Duration()); });
    ASSERT_FALSE(progress_->join_failure());
  }
  template <typename Condition>
  void turn_until(Condition&& met) {
    for (int turn = 0; turn < 1000 && !met(); ++turn) {
      now_ = now_ + Duration::ms(1);
      progress_->turn(now_);
    }
    ASSERT_TRUE(met());
  }
  State submit(wire::Collective collective, bool block_scaled) {
    Op op;
    op.data = reinterpret_cast<std::byte*>(memory_.emplace_back().data());
    op.count = 2;
    op.dtype = wire::DType::float32;
    op.collective = collective;
    auto state = std::make_shared<Request::State>();
    const Progress::Agreed agreed = progress_->agreed();
    if (block_scaled)
      split_block_scaled(op, 0, 1, agreed.info, {}, *state);
    else
      split(op, 0, 1, agreed.info, *state);
    state->cut_by = agreed.number;
    progress_->reserve(*state, {});
    progress_->submit(state);
    return state;
  }
  State open() { return submit(wire::Collective::open, false); }
  State update() { return submit(wire::Collective::update, false); }
  // Two ops of the switch: of the exponents, and of the mantissas.
  State block_scaled() { return submit(wire::Collective::allreduce, true); }
  void end(const State& state) {
    turn_until([&] { return state->done.is_set(); });
    EXPECT_FALSE(state->failure) << state->failure->text;
  }
  void step() {
    end(block_scaled());
    end(update());
  }

  Instant now_ = Instant() + Duration::seconds(1);
  std::deque<std::array<float, 2>> memory_;
  std::unique_ptr<Progress> progress_;
  ModelSwitch* switch_ = nullptr;  // progress_ owns it
};

constexpr Progress::RetryOptions kRetry{Duration::seconds(20), 1 << 20};

// T21: else the server takes the update for one that is sent again, and answers old parameters.
TEST_F(ModelOps, T21_AnUpdateAfterADrainHasANumberOfItsOwn) {
  for (const auto& retry : {std::optional<Progress::RetryOptions>(), std::optional(kRetry)}) {
    join(retry);
    end(open());
    for (std::uint16_t epoch = 2; epoch <= 4; ++epoch) {
      step();
      step();
      switch_->drain();
      turn_until([&] { return progress_->epoch() == epoch; });
    }
    step();
    EXPECT_EQ(switch_->questions, 4u);
    ASSERT_EQ(switch_->updates.size(), 7u);
    for (std::size_t i = 1; i < 7; ++i)
      EXPECT_LT(switch_->updates[i - 1], switch_->updates[i]) << "update " << i;
  }
}

// Rule 23, T21: it is sent again behind ops that are no update, and after it comes a new one.
TEST_F(ModelOps, T21_AnUpdateThatIsSentAgainHasTheNumberThatItHad) {
  join(kRetry);
  end(open());
  step();
  step();
  switch_->answers_updates = false;
  const State lost[] = {block_scaled(), update(), block_scaled(), update()};
  turn_until([&] { return switch_->updates.size() == 4; });
  switch_->abort();
  switch_->answers_updates = true;
  for (const State& op : lost) end(op);
  step();
  EXPECT_EQ(progress_->epoch(), 2);
  EXPECT_EQ(switch_->questions, 2u);
  ASSERT_EQ(switch_->updates.size(), 7u);
  EXPECT_EQ(switch_->updates[4], switch_->updates[2]);
  EXPECT_EQ(switch_->updates[5], switch_->updates[3]);
  EXPECT_GT(switch_->updates[6], switch_->updates[5]);
}

}  // namespace
}  // namespace tributary::worker
