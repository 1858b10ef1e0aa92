#include "dataplane/loop/loop_steps.h"

#include <chrono>
#include <future>
#include <stdexcept>

namespace tributary::dataplane {
namespace {

// In the mailbox of a loop that is silent from the first step on: that, apply and forget_behind.
constexpr std::size_t kMostWaiting = 3;
static_assert(kMostWaiting <= Mailbox::kAssured);

}  // namespace

void LoopSteps::check(Duration patience) {
  const auto is_through = [&](PacketLoop& packet_loop) {
    return packet_loop.mailbox().ask(
        [&packet_loop](Instant now) { return packet_loop.catch_up(now); }, patience);
  };
  bool all = true;
  for (const auto& packet_loop : packet_loops_) all = is_through(*packet_loop) && all;
  // One that was asked first may have waited for one that woke up after that.
  for (std::size_t i = 0; !all && i < packet_loops_.size(); ++i)
    if (!is_through(packet_loops_[i]))
      throw std::runtime_error(
          "the change of ports before this one is not through yet: some packet loop was silent for "
          "too long; try again");
  forget_again(patience);
}

// The others had done so before a late loop came to the change, which may have told them since.
void LoopSteps::forget_again(Duration patience) {
  if (to_forget_ == 0) return;
  for (const auto& packet_loop : packet_loops_)
    packet_loop->mailbox().ask(
        [at = packet_loop.get(), ports = to_forget_](Instant) { at->forget_behind(ports); },
        patience);
  to_forget_ = 0;
}

// All at once: in between two steps, frames of some queues wait.
template <typename Step>
bool LoopSteps::everywhere(const Prepared& prepared, Duration patience, Step step) {
  std::vector<std::future<void>> answers;
  for (std::size_t i = 0; i < prepared.size(); ++i) {
    packet_loops_[i].expect_step();
    // By address, so that what was replaced is destroyed by who waits and not by the loop.
    answers.push_back(packet_loops_[i].mailbox().post_assured(
        [packet_loop = &packet_loops_[i], change = prepared[i].get(), step](Instant now) {
          step(*packet_loop, *change, now);
          packet_loop->step_taken();
        }));
  }
  const auto last = std::chrono::steady_clock::now() + std::chrono::nanoseconds(patience.to_ns());
  bool all = true;
  for (auto& answer : answers) all = answer.wait_until(last) == std::future_status::ready && all;
  return all;
}

bool LoopSteps::take(const Prepared& prepared, PortMask moved, Duration patience) {
  const bool in_steps = prepared.front()->plan.has_value();
  loops_left_.store(prepared.size());
  const auto apply = [](PacketLoop& packet_loop, PacketLoop::Change& to, Instant now) {
    packet_loop.apply(to, now);
  };
  bool all = true;
  if (in_steps) {
    for (const auto& part : prepared) part->plan->loops_left = &loops_left_;
    all = everywhere(prepared, patience,
                     [](PacketLoop& packet_loop, PacketLoop::Change& to, Instant) {
                       packet_loop.make_room(*to.plan);
                     });
  }
  all = everywhere(prepared, patience, apply) && all;
  // One that is silent keeps the others from this.
  if (in_steps && all)
    all = everywhere(
        prepared, patience,
        [](PacketLoop& packet_loop, PacketLoop::Change&, Instant now) { packet_loop.attach(now); });
  // Loops that wake up late do it then; this call does not wait for them again.
  if (moved != 0 && packet_loops_.size() > 1)
    all = everywhere(prepared, all ? patience : Duration(),
                     [moved](PacketLoop& packet_loop, PacketLoop::Change&, Instant) {
                       packet_loop.forget_behind(moved);
                     }) &&
          all;
  if (!all && packet_loops_.size() > 1) to_forget_ |= moved;
  return all;
}

}  // namespace tributary::dataplane
