#include "worker/progress.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <chrono>

namespace tributary::worker {
namespace {

constexpr std::size_t kMaxOpenOps = 4096;
// Many times what a socket or ring holds; bounds a turn under a flood.
constexpr int kMostBursts = 1024;
// How long to wait for room in a full transport before asking it again.
constexpr Duration kBlockedRetry = Duration::us(500);

Instant clock_now() {
  return Instant::from_ns(std::chrono::duration_cast<std::chrono::nanoseconds>(
                              std::chrono::steady_clock::now().time_since_epoch())
                              .count());
}

}  // namespace

Progress::Progress(std::unique_ptr<Transport> transport, const SessionOptions& options)
    : transport_(std::move(transport)), session_(options, clock_now()) {
  // The application's signals are for its own threads: a thread inherits the mask.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Progress::~Progress() {
  if (!thread_.joinable()) return;
  stop_ = true;
  transport_->wake();
  thread_.join();
}

void Progress::abandon() {
  new std::thread(std::move(thread_));  // neither joined nor destroyed: it does not exist here
  [[maybe_unused]] auto* transport = transport_.release();
}

bool Progress::wait_joined(Duration limit) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::nanoseconds(limit.to_ns()),
                           [this] { return joined_; });
}

void Progress::submit(std::span<const State> states) {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return open_ops_ < kMaxOpenOps; });
    open_ops_ += states.size();
    inbox_.insert(inbox_.end(), states.begin(), states.end());
  }
  // Pairs with sleep(): either this sees the thread asleep, or the thread sees the op.
  if (sleeping_.exchange(false)) transport_->wake();
}

CommunicatorStats Progress::stats() const {
  const SessionCounters& c = session_.counters();
  CommunicatorStats s;
  s.ops = c.ops.get();
  s.contributions = c.contributions.get();
  s.contribution_bytes = c.contribution_bytes.get();
  s.results = c.results.get();
  s.result_bytes = c.result_bytes.get();
  s.duplicate_results = c.duplicate_results.get();
  s.probes = c.probes.get();
  s.resends = c.resends.get();
  s.pending_replies = c.pending_replies.get();
  s.unknown_replies = c.unknown_replies.get();
  s.drops = c.drops.total() + transport_->drops().total();
  s.smoothed_rtt_ns = c.smoothed_rtt_ns.get();
  s.float_retries = c.float_retries.get() + c.floats_at_once.get();
  s.degraded_results = c.degraded.get();
  s.marked_results = c.marked_results.get();
  s.reported_marks = c.reported_marks.get();
  s.window_decreases = c.window_decreases.get();
  s.least_window = c.least_window.get();
  return s;
}

// One clock read a turn. A turn receives one burst and sends one batch; but timers are judged only
// when everything that had arrived at `now` was received, or this thread would ask for what waits
// in its own queue, whenever others had the core for a while.
void Progress::run() {
  pthread_setname_np(pthread_self(), "tributary-io");
  // Woken by a switch on the same core, this thread would take the core from it in the middle of
  // a burst, and every other worker would wait. A batch thread waits until the switch sleeps. It
  // is a hint that needs no right; without it the loop is only slower.
  const sched_param no_priority{};
  sched_setscheduler(0, SCHED_BATCH, &no_priority);
  Instant now;
  const Transport::Receiver receiver = [this, &now](const wire::Packet& packet) {
    session_.on_packet(packet, now);
  };
  while (true) {
    now = clock_now();
    take_submissions(now);
    if (stop_) session_.leave(now);
    std::size_t received = transport_->receive(receiver);
    for (int more = 0; received > 0 && more < kMostBursts && session_.next_wakeup() <= now; ++more)
      received = transport_->receive(receiver);
    const bool blocked = !send_batch(now);
    start_if_joined();
    publish_finished();
    if (session_.state() == SessionState::left) break;
    if (blocked || !batch_.full()) sleep(now, blocked);
  }
  take_submissions(now);
  publish_finished();
}

// Until it has joined, ops wait in the inbox: their chunk size is not known.
void Progress::take_submissions(Instant now) {
  {
    const std::lock_guard lock(mutex_);
    if (inbox_.empty() || !joined_) return;
    taken_.swap(inbox_);
  }
  for (State& state : taken_) {
    Request::State& op = *state;
    op.self = std::move(state);
    session_.submit(op, now);
  }
  taken_.clear();
}

// START or failure, which may come from a packet or from a timer: readies the transport, then lets
// create() return. No op is taken before, so nothing was sent that a result could answer.
void Progress::start_if_joined() {
  if (started_ || session_.state() == SessionState::joining) return;
  started_ = true;
  try {
    if (session_.state() == SessionState::running) transport_->on_start(session_.start_info());
  } catch (const std::exception& e) {
    session_.fail_locally(e.what());
  }
  const std::lock_guard lock(mutex_);
  joined_ = true;
  join_failure_ = session_.failure();
  changed_.notify_all();
}

// False when the transport was full.
bool Progress::send_batch(Instant now) {
  session_.poll(now, batch_);
  if (batch_.size() == 0) return true;
  const std::size_t accepted = transport_->send(batch_.datagrams());
  if (accepted == batch_.size()) return true;
  session_.rejected(batch_, accepted);
  return false;
}

void Progress::publish_finished() {
  std::size_t finished = 0;
  while (Op* op = session_.take_finished()) {
    auto* state = static_cast<Request::State*>(op);
    const State keep = std::move(state->self);
    keep->done.set();
    ++finished;
  }
  if (finished == 0) return;
  const std::lock_guard lock(mutex_);
  if (open_ops_ >= kMaxOpenOps) changed_.notify_all();
  open_ops_ -= finished;
}

void Progress::sleep(Instant now, bool blocked) {
  Duration limit = Duration::seconds(3600);
  if (const Instant at = session_.next_wakeup(); at != Instant::max())
    limit = std::min(limit, at - now);
  if (blocked) limit = kBlockedRetry;  // what is due cannot go out before
  sleeping_ = true;
  {
    const std::lock_guard lock(mutex_);
    if (!inbox_.empty() && joined_) limit = Duration();
  }
  transport_->wait(std::max(limit, Duration()));
  sleeping_ = false;
}

}  // namespace tributary::worker
