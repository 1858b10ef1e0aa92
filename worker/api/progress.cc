#include "worker/api/progress.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "config/model/switch_config.h"
#include "core/op_number.h"
#include "core/prng.h"
#include "worker/agreement/switch_agreement.h"
#include "worker/api/plane_parts.h"
#include "worker/api/sharded_op.h"

namespace tributary::worker {
namespace {

// Many times the capacity of a socket or ring; bounds a turn under a flood.
constexpr int kMostBursts = 1024;
// How long to wait for room in a full transport before the next try.
constexpr Duration kBlockedRetry = Duration::us(500);

void add(const SessionCounters& c, CommunicatorStats& s) {
  s.contributions += c.contributions.get();
  s.contribution_bytes += c.contribution_bytes.get();
  s.results += c.results.get();
  s.result_bytes += c.result_bytes.get();
  s.duplicate_results += c.duplicate_results.get();
  s.asked_results += c.asked_results.get();
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

// Adds the counters of all sessions of one epoch.
void add(const std::vector<std::unique_ptr<Session>>& sessions, CommunicatorStats& s) {
  s.ops += sessions.front()->counters().ops.get();  // it has a part in each op
  for (const auto& session : sessions) add(session->counters(), s);
}

// 0: chunks are too small for a name.
std::uint32_t segment_bytes_of(const wire::StartInfo& info) {
  return info.chunk_bytes < wire::kMinNamedChunkBytes ? 0 : wire::segment_bytes(info.chunk_bytes);
}

bool concerns_model(const Request::State& op) {
  return !op.parts.empty() && wire::concerns_model(op.parts.front().collective);
}

Instant clock_now() {
  return Instant::from_ns(std::chrono::duration_cast<std::chrono::nanoseconds>(
                              std::chrono::steady_clock::now().time_since_epoch())
                              .count());
}

}  // namespace

Progress::Progress(std::unique_ptr<Transport> transport, const SessionOptions& options,
                   const std::optional<RetryOptions>& retry, Instant now)
    : options_(options),
      joining_since_(now - options.join_spent),
      transport_(std::move(transport)),
      retry_options_(retry) {
  if (retry)
    retry_ =
        std::make_unique<RetryState>(options.rank, options.size, retry->most_bytes, retry->at_most);
  options_.ends_in_silence = retry.has_value();
  options_.keeps_models = true;
  sessions_.reserve(config::kMaxPlanes);
  sessions_.push_back(std::make_unique<Session>(options_, joining_since_));
}

Progress::Progress(std::unique_ptr<Transport> transport, const SessionOptions& options,
                   const std::optional<RetryOptions>& retry)
    : Progress(std::move(transport), options, retry, clock_now()) {
  // The application's signals are for its own threads: the new thread inherits this mask.
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
  return changed_.wait_for(lock, std::chrono::nanoseconds(limit.to_ns()), [this] {
    return joined_ || notice_;
  }) && joined_;
}

std::optional<std::string> Progress::take_notice() {
  const std::lock_guard lock(mutex_);
  return std::exchange(notice_, std::nullopt);
}

void Progress::reserve(Request::State& op, const CallMemory& memory) {
  const std::lock_guard lock(mutex_);
  op.memory = open_memory_.claim(memory);
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
  const std::lock_guard lock(mutex_);
  CommunicatorStats s = past_;
  s.drops += transport_->drops().total();
  add(sessions_, s);
  s.least_window = first().counters().least_window.get();
  for (const auto& session : sessions_)
    s.least_window = std::min(s.least_window, session->counters().least_window.get());
  return s;
}

void Progress::run() {
  pthread_setname_np(pthread_self(), "tributary-io");
  // If a switch on the same core wakes this thread, the thread would take the core in the middle of
  // a burst, and every other worker would wait. A batch thread waits until the switch sleeps. This
  // hint needs no privilege; without it the loop is only slower.
  const sched_param no_priority{};
  sched_setscheduler(0, SCHED_BATCH, &no_priority);
  for (;;) {
    const Instant now = clock_now();
    const Turn turned = turn(now);
    if (turned == Turn::over) return;
    if (turned != Turn::again) sleep(now, turned == Turn::blocked);
  }
}

// All that happens at one instant. A turn receives one burst and sends one batch. But timers are
// evaluated only after everything that had arrived at `now` was received: otherwise this thread
// would ask for data in its own queue after others had the core for a while.
Progress::Turn Progress::turn(Instant now) {
  const Transport::Receiver receiver = [this, &now](const wire::Packet& packet) {
    if (wire::concerns_name(packet.header.type)) return names_.on_packet(packet, now);
    const std::uint8_t plane = packet.header.plane;
    sessions_[plane < sessions_.size() ? plane : 0]->on_packet(packet, now);
  };
  take_submissions(now);
  names_.take(now);
  if (decided_) take_decision(now);
  if (stop_)
    for (const auto& session : sessions_) session->leave(now);
  std::size_t received = transport_->receive(receiver);
  for (int more = 0; received > 0 && more < kMostBursts && next_wakeup() <= now; ++more)
    received = transport_->receive(receiver);
  if (ends_) take_end();  // what has arrived may name the cause of that, too
  if (const std::string broken = transport_->failure(); !broken.empty()) {
    for (const auto& session : sessions_) session->fail_locally(broken);
    names_.fail(broken);
  }
  const bool blocked = !send_batches(now);
  share_failure();
  start_if_joined();
  publish_finished(now);
  names_.publish();
  if (resize_to_ || leaving_for_good_) go_on_resizing(now);
  resume_if_drained(now);
  if (stop_ && all_left()) {
    take_submissions(now);
    publish_finished(now);
    names_.close();
    return Turn::over;
  }
  if (blocked) return Turn::blocked;
  return sent_full_batch_ ? Turn::again : Turn::idle;
}

bool Progress::waits_for_turn() const {
  if (names_.waits()) return true;
  const std::lock_guard lock(mutex_);
  return !inbox_.empty() && joined_ && may_take(*inbox_.front());
}

void Progress::submit(NameCalls::Call call) {
  names_.submit(std::move(call));
  if (sleeping_.exchange(false)) transport_->wake();
}

void Progress::end(const Failure& cause) {
  {
    const std::lock_guard lock(mutex_);
    if (!end_) end_ = cause;
  }
  ends_ = true;
  transport_->wake();
}

void Progress::take_end() {
  ends_ = false;
  const std::lock_guard lock(mutex_);
  for (const auto& session : sessions_) session->fail(*end_);
}

// Until the ranks have joined, ops wait in the inbox: their chunk size is not known. Once the
// sessions have an op, the limit that a drain sets holds for the next one.
void Progress::take_submissions(Instant now) {
  {
    const std::lock_guard lock(mutex_);
    if (inbox_.empty() || !joined_ || !may_take(*inbox_.front())) return;
    taken_.swap(inbox_);
  }
  std::size_t done = 0;
  for (; done < taken_.size() && may_take(*taken_[done]); ++done) {
    Request::State& op = *taken_[done];
    if (op.ranks != options_.size && refuse_old_size(taken_[done])) continue;
    if (concerns_model(op) && tells_run(now)) break;
    op.self = std::move(taken_[done]);
    if (retry_) retry_->log.begin(op.self);
    submit_parts(op, now);
  }
  if (done < taken_.size()) {
    const std::lock_guard lock(mutex_);
    inbox_.insert(inbox_.begin(), std::make_move_iterator(taken_.begin() + static_cast<long>(done)),
                  std::make_move_iterator(taken_.end()));
  }
  taken_.clear();
}

// Planes are told of a drain one after the other: the first question stops all, and the first
// answer to all questions lets all go on, up to the same op.
std::uint32_t Progress::op_limit() const {
  std::uint32_t limit = kNoOp;
  for (const auto& session : sessions_) {
    if (session->ends() && session->op_limit() != kNoOp) return session->op_limit();
    limit = std::min(limit, session->op_limit());
  }
  return limit;
}

bool Progress::may_take(const Request::State& op) const {
  if (resuming_ || is_resizing() || run_question_) return false;
  if (retry_ && (retry_->is_busy() || retry_->log.is_full())) return false;
  const std::uint32_t limit = op_limit();
  if (limit == kNoOp) return true;
  const std::uint32_t number = op.number ? *op.number - first_op_ : 0;
  return std::max(number, first().next_op()) < limit;
}

// The ranks agree on the op; each is here once it has all results before it.
void Progress::resume_if_drained(Instant now) {
  const auto drained = [](const auto& session) { return session->drained().has_value(); };
  if (resuming_ || stop_ || deciding_ || !std::all_of(sessions_.begin(), sessions_.end(), drained))
    return;
  if (resize_to_ && options_.rank >= *resize_to_) return leave_for_good(now);
  resumptions_.clear();
  for (const auto& session : sessions_) resumptions_.push_back(*session->drained());
  if (resize_to_) be_resized();
  first_op_ = next_number_;
  options_.nonce = split_mix(options_.nonce + kSplitMixStep);
  options_.resumes = resumptions_.front();
  leave_epoch_of_run();
  options_.join_timeout = options_.op_timeout;
  joining_since_ = now;
  resuming_ = true;
  started_ = settled_ = false;
  const std::lock_guard lock(mutex_);
  add_to_past();
  sessions_.clear();
  SessionOptions options = options_;
  for (const wire::Resumption& resumption : resumptions_) {  // it leaves all planes at once
    options.plane = static_cast<std::uint8_t>(sessions_.size());
    options.resumes = resumption;
    sessions_.push_back(std::make_unique<Session>(options, joining_since_));
  }
}

void Progress::add_to_past() {
  add(sessions_, past_);
}

Progress::Agreed Progress::agreed() const {
  const std::lock_guard lock(mutex_);
  return agreed_;
}

// Planes without a part of an op count it, too: an op has the same number everywhere.
void Progress::submit_parts(Request::State& op, Instant now) {
  if (op.cut_by != agreed_.number) split_again(options_.rank, options_.size, agreed_.info, op);
  if (op.number) {
    next_number_ = *op.number + 1;
    for (const auto& session : sessions_) session->skip_ops_before(*op.number - first_op_);
  }
  for (Request::Part& part : op.parts) sessions_[part.plane]->submit(part, now);
  for (const auto& session : sessions_) session->skip_ops_before(first().next_op());
}

// The first plane's START is here. The join timeout covers all planes together. After a drain the
// job may have fewer planes than before; one that it did not have goes on from where the first
// does.
void Progress::add_planes() {
  SessionOptions options = options_;
  const std::lock_guard lock(mutex_);
  if (sessions_.size() > first().start_info().planes) sessions_.resize(first().start_info().planes);
  while (sessions_.size() < first().start_info().planes) {
    options.plane = static_cast<std::uint8_t>(sessions_.size());
    sessions_.push_back(std::make_unique<Session>(options, joining_since_));
  }
}

// The failure of one plane's epoch ends the others'. Not so leaving: each plane leaves by itself.
void Progress::share_failure() {
  if (sessions_.size() == 1) return;
  // Others may be of planes that the job has no more.
  if (resuming_ && !started_ && first().state() != SessionState::failed) return;
  const auto failed = std::find_if(sessions_.begin(), sessions_.end(), [](const auto& session) {
    return session->state() == SessionState::failed;
  });
  if (failed == sessions_.end()) return;
  for (const auto& session : sessions_) session->fail(*(*failed)->failure());
}

// START or failure, from a packet or a timer: prepares the transport and the other planes, then
// lets create() return. No op is accepted before, so no data was sent that a result could
// answer.
void Progress::start_if_joined() {
  if (settled_) return;
  if (first().state() == SessionState::joining) return note_taken();
  if (!started_) {
    started_ = true;
    try {
      if (first().state() == SessionState::running) {
        transport_->on_host(first().host_udp_port());
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
  settle();
}

void Progress::note_taken() {
  if (noted_ || resuming_) return;
  std::string by = first().taken_by();
  if (by.empty()) return;
  noted_ = true;
  const std::lock_guard lock(mutex_);
  notice_ = std::move(by);
  changed_.notify_all();
}

// Ops are taken from now on; where joining has failed, to fail for the same cause.
void Progress::settle() {
  const bool resumed = std::exchange(resuming_, false);
  settled_ = true;
  const wire::StartInfo& info = first().start_info();
  if (resumed && first().state() == SessionState::running) {
    std::string why = why_epochs_differ(agreed_.info, info, shares_ops_);
    if (why.empty() && options_.needs_all_ranks && first().degrades()) why = kMayLackRanks;
    if (!why.empty()) first().fail(bad_start(options_.job, why));
    share_failure();
  }
  if (retry_ && first().state() == SessionState::running && first().degrades())
    first().fail(bad_start(options_.job,
                           "results that lack ranks (stragglers.degraded_after) are "
                           "not done again; allowed: retry none"));
  const bool runs = first().state() == SessionState::running;
  if (runs)
    names_.identify({options_.job, first().epoch(), options_.rank, first().child(),
                     first().fan_in(), segment_bytes_of(info),
                     info.integrity == static_cast<std::uint8_t>(wire::Integrity::crc32c)});
  if (runs) enter_epoch_of_run(resumed);
  if (retry_ && runs) start_retry(resumed);
  {
    const std::lock_guard lock(mutex_);
    if (runs) {
      if (resumed && agreed_.info != info) ++agreed_.number;
      agreed_.info = info;
      agreed_.degrades = first().degrades();
      epoch_ = first().epoch();
      if (!resumed || resized_by_join_ || !options_.resumes.resumes())
        run_number_ = first().epoch();
    }
    if (!resumed) join_failure_ = first().failure();
    sizes_ = first().sizes();
    joined_ = true;
    changed_.notify_all();
  }
  if (resized_by_join_) end_resize(first().failure());
}

// Returns false when the transport was full.
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
  return names_.send(*transport_, now) && room;
}

Instant Progress::next_wakeup() const {
  Instant at = Instant::max();
  for (const auto& session : sessions_) at = std::min(at, session->next_wakeup());
  return std::min(at, names_.next_wakeup());
}

bool Progress::all_left() const {
  return std::all_of(sessions_.begin(), sessions_.end(),
                     [](const auto& session) { return session->state() == SessionState::left; });
}

void Progress::publish_finished(Instant now) {
  for (const auto& session : sessions_)
    while (Op* op = session->take_finished()) {
      auto& part = *static_cast<Request::Part*>(op);
      Request::State& whole = *part.whole;
      if (take_for_model_run(part)) continue;
      if (retry_) {
        take_for_retry(part);
      } else if (whole.finish(part)) {
        whole.complete();
        ended_.push_back(std::move(whole.self));
      }
    }
  if (retry_) go_on_retrying(now);
  if (ended_.empty()) return;
  {
    // Done before its waiters wake up: their next call may use the same memory.
    const std::lock_guard lock(mutex_);
    for (const State& op : ended_) {
      open_memory_.release(op->memory);
      if (op == vote_) deciding_ = true;
    }
  }
  for (const State& op : ended_) {
    op->done.set();
    if (op->sharded) op->sharded->finish(*op, options_.switch_name);
  }
  ended_.clear();
}

void Progress::sleep(Instant now, bool blocked) {
  Duration limit = Duration::seconds(3600);
  if (const Instant at = next_wakeup(); at != Instant::max()) limit = std::min(limit, at - now);
  if (blocked) limit = kBlockedRetry;  // due datagrams cannot be sent before
  sleeping_ = true;
  if (waits_for_turn()) limit = Duration();
  transport_->wait(std::max(limit, Duration()));
  sleeping_ = false;
}

}  // namespace tributary::worker
