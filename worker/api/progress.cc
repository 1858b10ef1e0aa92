#include "worker/api/progress.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <chrono>

#include "config/model/switch_config.h"

namespace tributary::worker {
namespace {

constexpr std::size_t kMaxOpenOps = 4096;
// How often a call that waits asks whether it was cancelled.
constexpr Duration kCancelPeriod = Duration::ms(50);
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
    : options_(options),
      joining_since_(clock_now() - options.join_spent),
      transport_(std::move(transport)) {
  sessions_.reserve(config::kMaxPlanes);
  sessions_.push_back(std::make_unique<Session>(options, joining_since_));
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

bool Progress::reserve(Request::State& op, const CallMemory& memory,
                       const std::function<bool()>& cancelled) {
  std::unique_lock lock(mutex_);
  while (open_ops_ >= kMaxOpenOps) {
    changed_.wait_for(lock, std::chrono::nanoseconds(kCancelPeriod.to_ns()));
    if (!cancelled || open_ops_ < kMaxOpenOps) continue;
    lock.unlock();
    if (cancelled()) return false;
    lock.lock();
  }
  op.memory = open_memory_.claim(memory);
  ++open_ops_;
  return true;
}

void Progress::submit(const State& state) {
  {
    const std::lock_guard lock(mutex_);
    inbox_.push_back(state);
  }
  // Pairs with sleep(): either this sees the thread asleep, or the thread sees the op.
  if (sleeping_.exchange(false)) transport_->wake();
}

CommunicatorStats Progress::stats() const {
  CommunicatorStats s;
  s.ops = first().counters().ops.get();  // which has a part in each
  s.drops = transport_->drops().total();
  for (const auto& session : sessions_) {
    const SessionCounters& c = session->counters();
    s.contributions += c.contributions.get();
    s.contribution_bytes += c.contribution_bytes.get();
    s.results += c.results.get();
    s.result_bytes += c.result_bytes.get();
    s.duplicate_results += c.duplicate_results.get();
    s.probes += c.probes.get();
    s.resends += c.resends.get();
    s.pending_replies += c.pending_replies.get();
    s.unknown_replies += c.unknown_replies.get();
    s.drops += c.drops.total();
    s.smoothed_rtt_ns = std::max(s.smoothed_rtt_ns, c.smoothed_rtt_ns.get());
    s.float_retries += c.float_retries.get() + c.floats_at_once.get();
    s.degraded_results += c.degraded.get();
    s.marked_results += c.marked_results.get();
    s.reported_marks += c.reported_marks.get();
    s.window_decreases += c.window_decreases.get();
  }
  s.least_window = first().counters().least_window.get();
  for (const auto& session : sessions_)
    s.least_window = std::min(s.least_window, session->counters().least_window.get());
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
    const std::uint8_t plane = packet.header.plane;
    sessions_[plane < sessions_.size() ? plane : 0]->on_packet(packet, now);
  };
  while (true) {
    now = clock_now();
    take_submissions(now);
    if (stop_)
      for (const auto& session : sessions_) session->leave(now);
    std::size_t received = transport_->receive(receiver);
    for (int more = 0; received > 0 && more < kMostBursts && next_wakeup() <= now; ++more)
      received = transport_->receive(receiver);
    const bool blocked = !send_batches(now);
    share_failure();
    start_if_joined();
    publish_finished();
    if (all_left()) break;
    if (blocked || !sent_full_batch_) sleep(now, blocked);
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
    submit_parts(op, now);
  }
  taken_.clear();
}

// Planes that have no part of an op count it all the same: everywhere its number is the same.
void Progress::submit_parts(Request::State& op, Instant now) {
  for (Request::Part& part : op.parts) sessions_[part.plane]->submit(part, now);
  for (const auto& session : sessions_) session->skip_ops_before(first().next_op());
}

// Of the first plane START is here. The time to join counts for all of them together.
void Progress::add_planes() {
  SessionOptions options = options_;
  while (sessions_.size() < first().start_info().planes) {
    options.plane = static_cast<std::uint8_t>(sessions_.size());
    sessions_.push_back(std::make_unique<Session>(options, joining_since_));
  }
}

// What has ended the epoch of one plane ends the others'. Not the good-bye: each says its own.
void Progress::share_failure() {
  if (sessions_.size() == 1) return;
  const auto failed = std::find_if(sessions_.begin(), sessions_.end(), [](const auto& session) {
    return session->state() == SessionState::failed;
  });
  if (failed == sessions_.end()) return;
  for (const auto& session : sessions_) session->fail(*(*failed)->failure());
}

// START or failure, which may come from a packet or from a timer: readies the transport and the
// other planes, then lets create() return. No op is taken before, so nothing was sent that a result
// could answer.
void Progress::start_if_joined() {
  if (told_ || first().state() == SessionState::joining) return;
  if (!started_) {
    started_ = true;
    try {
      if (first().state() == SessionState::running) {
        transport_->on_start(first().start_info());
        add_planes();
      }
    } catch (const std::exception& e) {
      first().fail_locally(e.what());
    }
  }
  for (const auto& session : sessions_) {
    if (session->state() == SessionState::joining) return;
    if (session->state() == SessionState::running && session->start_info() != first().start_info())
      first().fail(bad_start(options_.job, "its configuration changed while its planes began"));
  }
  share_failure();
  told_ = true;
  const std::lock_guard lock(mutex_);
  joined_ = true;
  join_failure_ = first().failure();
  changed_.notify_all();
}

// False when the transport was full.
bool Progress::send_batches(Instant now) {
  bool room = true;
  sent_full_batch_ = false;
  for (std::size_t i = 0; i < sessions_.size() && room; ++i) {
    Session& session = *sessions_[(first_to_send_ + i) % sessions_.size()];
    session.poll(now, batch_);
    if (batch_.size() == 0) continue;
    sent_full_batch_ = sent_full_batch_ || batch_.full();
    const std::size_t accepted = transport_->send(batch_.datagrams());
    room = accepted == batch_.size();
    if (!room) session.rejected(batch_, accepted);
  }
  first_to_send_ = (first_to_send_ + 1) % sessions_.size();
  return room;
}

Instant Progress::next_wakeup() const {
  Instant at = Instant::max();
  for (const auto& session : sessions_) at = std::min(at, session->next_wakeup());
  return at;
}

bool Progress::all_left() const {
  return std::all_of(sessions_.begin(), sessions_.end(),
                     [](const auto& session) { return session->state() == SessionState::left; });
}

void Progress::publish_finished() {
  for (const auto& session : sessions_)
    while (Op* op = session->take_finished()) {
      auto& part = *static_cast<Request::Part*>(op);
      Request::State& whole = *part.whole;
      if (whole.finish(part)) ended_.push_back(std::move(whole.self));
    }
  if (ended_.empty()) return;
  {
    // Before its waiters wake up: their next call may use the same memory.
    const std::lock_guard lock(mutex_);
    if (open_ops_ >= kMaxOpenOps) changed_.notify_all();
    open_ops_ -= ended_.size();
    for (const State& op : ended_) open_memory_.release(op->memory);
  }
  for (const State& op : ended_) op->done.set();
  ended_.clear();
}

void Progress::sleep(Instant now, bool blocked) {
  Duration limit = Duration::seconds(3600);
  if (const Instant at = next_wakeup(); at != Instant::max()) limit = std::min(limit, at - now);
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
