// The switch wants the epoch to end after an op that all ranks finish (docs/protocol/drains.md).
//
//   ask ─▶ no further op is submitted ─answer: how many were─▶ end ─▶ ops up to that one ─▶ drained
#include <algorithm>
#include <array>

#include "core/op_number.h"
#include "worker/session/session.h"

namespace tributary::worker {

// Between its question and the end, the answer must stay true.
std::uint32_t Session::op_limit() const {
  if (!drain_ || state_ != SessionState::running) return kNoOp;
  return ends() ? drain_->op : next_op_;
}

std::optional<wire::Resumption> Session::drained() const {
  if (state_ != SessionState::running || !ends() || next_op_ < drain_->op || !ops_.empty())
    return std::nullopt;
  return wire::Resumption{drain_->id, drain_->op};
}

void Session::on_drain(const wire::Drain& said) {
  if (said.id == 0) return drop(DropReason::bad_extension);
  if (said.step == wire::DrainStep::ask) {
    if (drain_ && drain_->id != said.id) return drop(DropReason::stale_epoch);
    if (!drain_) drain_ = said;
    answer_due_ = !ends();
    return;
  }
  // An end before what this rank has begun is not the answer to what it has said.
  if (said.step != wire::DrainStep::end || !drain_ || drain_->id != said.id || said.op < next_op_)
    return drop(DropReason::stale_epoch);
  if (!ends()) drain_ = said;
  answer_due_ = false;
}

Duration Session::drain_silence() const {
  constexpr Duration kLeast = Duration::seconds(2);  // of a dozen questions one comes
  return std::max(kLeast, Duration::ms(start_.lease_ms));
}

// The switch repeats its question until it says after which op the epoch ends, and calls wait for
// that. With no op open, nothing else would notice that it has died.
Instant Session::drain_silent_at() const {
  if (!drain_ || ends() || !last_heard_) return Instant::max();
  return *last_heard_ + drain_silence();
}

void Session::fail_in_silent_drain(Instant now) {
  if (now >= drain_silent_at())
    fail(fell_silent(options_.job, drain_silence(), options_.switch_name));
}

void Session::ask_for_drain(Instant now, SendBatch& batch) {
  constexpr Duration kPeriod = Duration::ms(20);
  if (!wants_drain_ || drain_ || now < want_at_ || batch.full()) return;
  want_at_ = now + kPeriod;
  std::array<std::byte, 40> room;
  wire::ExtensionWriter extensions(room);
  wire::add_drain(extensions, {wire::DrainStep::wanted, 0, 0, wire::kByRanks});
  put(batch, header(wire::PacketType::lease), extensions, {}, kNoChunk);
}

// The others wait for this: without it they wait for this rank's lease, and then fail.
void Session::leave_drained(Instant now) {
  constexpr std::uint8_t kTries = 100;
  if (const auto at = drained()) left_at_ = *at;
  fail_locally("this rank has left the job, which goes on without it");
  state_ = membership_.leave(now, kTries) ? SessionState::leaving : SessionState::left;
}

void Session::answer_drain(SendBatch& batch) {
  std::array<std::byte, 40> room;
  wire::ExtensionWriter extensions(room);
  const bool refuses = has_model_ops_ && !options_.keeps_models;
  const auto step = refuses ? wire::DrainStep::refuse : wire::DrainStep::answer;
  wire::add_drain(extensions, {step, drain_->id, next_op_, 0});
  put(batch, header(wire::PacketType::lease), extensions, {}, kNoChunk);
  answer_due_ = false;
}

}  // namespace tributary::worker
