// Progress from one epoch to another that is not alike. After one that ended unannounced, ranks
// join another by themselves, agree on which ops all of them have, and do the others again
// (worker/api/retry_state.h). After a vote they join one of more or fewer ranks. Their ops on a
// model are numbered over all of these.
#include <algorithm>
#include <utility>

#include "core/prng.h"
#include "worker/api/plane_parts.h"
#include "worker/api/progress.h"
#include "worker/api/retry_state.h"

namespace tributary::worker {
namespace {

// After a refusal, before the next JOIN: others may still be in the epoch that was lost.
constexpr Duration kPause = Duration::ms(20);

// The sum of all ranks' numbers.
CalledOp exchange_of(Holdings& holdings) {
  CalledOp called;
  called.op.data = reinterpret_cast<std::byte*>(holdings.numbers().data());
  called.op.count = holdings.numbers().size();
  called.op.dtype = wire::DType::int64;
  return called;
}

}  // namespace

const Failure* Progress::lost_epoch() const {
  for (const auto& session : sessions_)
    if (session->failure()) return &*session->failure();
  return nullptr;
}

// A part that was lost with its epoch leaves its op open. Other failures are the op's own.
void Progress::take_for_retry(Request::Part& part) {
  RetryState& retry = *retry_;
  const bool own = part.failure && part.failure->reason == wire::Reason::overflow;
  if (part.failure && !own && lost_epoch() != nullptr) return;
  Request::State& whole = *part.whole;
  if (!whole.finish(part)) return;
  if (retry.exchange.get() == &whole) return agreed_on_holdings();
  const auto repeat = std::find_if(retry.repeats.begin(), retry.repeats.end(),
                                   [&](const auto& r) { return r.state.get() == &whole; });
  if (repeat == retry.repeats.end()) return retry.log.finished(whole);
  retry.log.done_again(repeat->number, whole.failure);
  --retry.open_repeats;
}

// All parts that have ended are taken.
void Progress::go_on_retrying(Instant now) {
  RetryState& retry = *retry_;
  retry.log.deliver(ended_);
  if (const Failure* const failure = lost_epoch()) return begin_anew(*failure, now);
  submit_for_retry(now);
  using Stage = RetryState::Stage;
  if (retry.next != retry.end || retry.open_repeats > 0) return;
  if (retry.stage == Stage::repeating) {
    retry.repeats.clear();
    retry.stage = Stage::reopening;
    retry.next = retry.holdings->high();
    retry.end = retry.log.end();
    submit_for_retry(now);
  }
  if (retry.stage != Stage::reopening || retry.next != retry.end) return;
  retry.stage = Stage::running;
  retry.cause.reset();
}

void Progress::begin_anew(const Failure& failure, Instant now) {
  RetryState& retry = *retry_;
  using Stage = RetryState::Stage;
  const bool joining = retry.stage == Stage::joining;
  if (stop_ || !joined_ || (retry.past == 0 && !joining)) return give_up_retry(failure);
  if (!retry.cause) {
    retry.cause = failure;
    retry.until = now + retry.limit;
  }
  // A rank that has no result yet has lost as little as one that was started anew.
  const bool met_newcomer =
      joining && failure.reason == wire::Reason::rank_restarted && retry.newcomer_stays(now);
  // It may not have one, while the server has taken updates that this rank has sent.
  if (met_newcomer && (retry.log.held() > 0 || retry.log.has_models()))
    return give_up_retry(failure);
  if (now >= retry.until || !may_begin_anew(failure)) return give_up_retry(failure);
  if (met_newcomer) retry.past = 0;
  retry.log.lose_epoch();
  retry.exchange.reset();
  retry.repeats.clear();
  leave_epoch_of_run();
  retry.open_repeats = 0;
  retry.next = retry.end = 0;
  retry.stage = Stage::joining;
  options_.nonce = split_mix(options_.nonce + kSplitMixStep);
  options_.resumes = retry.resumption();
  options_.join_timeout = retry.until - now;
  joining_since_ = joining ? now + kPause : now;
  resuming_ = true;
  started_ = settled_ = false;
  const std::lock_guard lock(mutex_);
  add_to_past();
  sessions_.clear();
  sessions_.push_back(std::make_unique<Session>(options_, joining_since_));
}

// Ops fail for what has ended their epoch, as they do without a retry.
void Progress::give_up_retry(const Failure& failure) {
  Failure why = retry_->cause ? *retry_->cause : failure;
  if (why.text != failure.text) why.text += "; its ops were to be done again, but: " + failure.text;
  retry_->log.fail(why, options_.job);
  retry_->log.deliver(ended_);
  retry_.reset();
}

// START: of the first epoch, of one that follows a drain, or of one that is begun anew.
void Progress::start_retry(bool resumed) {
  RetryState& retry = *retry_;
  using Stage = RetryState::Stage;
  const bool joining = retry.stage == Stage::joining;
  if (retry.past == 0) {
    const std::uint64_t place = std::uint64_t{first().epoch()} << 32 | first().first_seq();
    retry.past = split_mix(place + options_.job * kSplitMixStep) | 1;
  }
  retry.log.start(first().start_info(), resumed && retry.stage == Stage::running);
  retry.refused.reset();
  if (!joining) return;
  retry.stage = options_.resumes.retries() ? Stage::agreeing : Stage::reopening;
  retry.next = 0;
  retry.end = retry.stage == Stage::agreeing ? 1 : retry.log.end();
}

// Under a drain these ops wait for the next epoch, as others do.
void Progress::submit_for_retry(Instant now) {
  RetryState& retry = *retry_;
  using Stage = RetryState::Stage;
  for (; retry.next < retry.end && may_begin_op() && !run_question_; ++retry.next) {
    sent_full_batch_ = true;  // there is more to send
    if (retry.stage == Stage::reopening) {
      if (retry.log.concerns_model(retry.next) && tells_run(now)) return;
      const auto op = retry.log.reopen(retry.next, first().start_info());
      op->cut_by = agreed_.number;
      submit_parts(*op, now);
    } else if (retry.stage == Stage::agreeing) {
      retry.holdings.emplace(options_.size, options_.rank, retry.log.held(),
                             retry.log.repeatable());
      retry.exchange = std::make_shared<Request::State>();
      submit_called(exchange_of(*retry.holdings), *retry.exchange, now);
    } else {
      RetryState::Repeat& repeat = retry.repeats.emplace_back();
      repeat.number = retry.next;
      repeat.state = std::make_shared<Request::State>();
      ++retry.open_repeats;
      const std::uint32_t holder = retry.holdings->holder_of(repeat.number);
      submit_called(retry.log.again(repeat.number, holder, repeat.scratch), *repeat.state, now);
    }
  }
}

void Progress::submit_called(const CalledOp& called, Request::State& state, Instant now) {
  split_called(called, options_.rank, options_.size, first().start_info(), state);
  state.cut_by = agreed_.number;
  submit_parts(state, now);
}

void Progress::agreed_on_holdings() {
  RetryState& retry = *retry_;
  const Holdings& holdings = *retry.holdings;
  if (const auto rank = holdings.forgetful()) {
    const std::string text = "job " + std::to_string(options_.job) + ": op " +
                             std::to_string(holdings.low()) + " cannot be done again: rank " +
                             std::to_string(*rank) +
                             " keeps it no more (retry_bytes), or it failed there";
    return first().fail({wire::Reason::none, {*rank}, text, {}});
  }
  retry.stage = RetryState::Stage::repeating;
  retry.next = holdings.low();
  retry.end = holdings.high();
  const std::lock_guard lock(mutex_);
  ++past_.retries;
}

// Another number of ranks (docs/protocol/resize.md): the epoch is drained, and those that stay join
// the next one under it.
void Progress::begin_vote(const State& vote) {
  const std::lock_guard lock(mutex_);
  vote_ = vote;
  resized_ = false;
  resize_failure_.reset();
}

void Progress::decide(std::optional<std::uint32_t> size) {
  {
    const std::lock_guard lock(mutex_);
    decision_ = size;
    vote_.reset();
  }
  decided_ = true;
  transport_->wake();
}

bool Progress::wait_resized(Duration limit) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::nanoseconds(limit.to_ns()),
                           [this] { return resized_; });
}

Session::Sizes Progress::sizes() const {
  const std::lock_guard lock(mutex_);
  return sizes_;
}

void Progress::take_decision(Instant now) {
  decided_ = deciding_ = false;
  const std::lock_guard lock(mutex_);
  resize_to_ = decision_;
  resize_until_ = now + options_.op_timeout;
}

// Any rank's wish is enough; each tells the switch, since some may be about to leave.
void Progress::go_on_resizing(Instant now) {
  if (leaving_for_good_) {
    if (all_left()) end_resize({});
    return;
  }
  if (resuming_ || (retry_ && retry_->is_busy())) return;
  if (now >= resize_until_) {
    sent_full_batch_ = true;  // the next turn takes up the failure
    first().fail_locally("not drained within op_timeout, so its number of ranks stays as it is");
  }
  share_failure();
  if (const Failure* const lost = lost_epoch()) {
    if (!retry_) end_resize(*lost);
    return;
  }
  for (const auto& session : sessions_) session->want_drain();
}

void Progress::leave_for_good(Instant now) {
  retry_.reset();  // nothing of this rank's is open
  resize_to_.reset();
  leaving_for_good_ = true;
  for (const auto& session : sessions_) session->leave_drained(now);
}

// Newcomers know of no op before this epoch: ranks that retry count from here, too.
void Progress::be_resized() {
  options_.size = *std::exchange(resize_to_, std::nullopt);
  resized_by_join_ = true;
  if (retry_)
    retry_ = std::make_unique<RetryState>(options_.rank, options_.size, retry_options_->most_bytes,
                                          retry_options_->at_most);
}

void Progress::end_resize(const std::optional<Failure>& failure) {
  leaving_for_good_ = resized_by_join_ = false;
  resize_to_.reset();
  const std::lock_guard lock(mutex_);
  resize_failure_ = failure;
  resized_ = true;
  changed_.notify_all();
}

// An op that was called under another number of ranks: its memory is for so many, where each rank
// has a part of it.
bool Progress::refuse_old_size(const State& op) {
  if (op->ranks == 0 || op->parts.empty()) return false;  // the library's own
  if (!op->parts.front().has_owners()) {
    op->ranks = options_.size;
    return false;
  }
  op->failure = Failure{wire::Reason::none,
                        {},
                        "job " + std::to_string(options_.job) + ": the op was called for " +
                            std::to_string(op->ranks) + " ranks, while the job was resized to " +
                            std::to_string(options_.size) + "; call it after resize()",
                        {}};
  ended_.push_back(op);
  return true;
}

// Ops on a model go on (worker/agreement/model_run.h). After a drain, and after a loss, it is the
// run of the epoch before. The place of its first epoch is drawn at random by the root.
void Progress::enter_epoch_of_run(bool resumed) {
  if (resumed && !resized_by_join_ && options_.resumes.resumes()) return;
  const std::uint64_t place = std::uint64_t{first().epoch()} << 32 | first().first_seq();
  model_run_ = {};
  model_run_.id = split_mix(place + options_.job * kSplitMixStep) | 1;
}

// Before an op on the model. Returns true if the op has to wait for the server's answer.
bool Progress::tells_run(Instant now) {
  if (model_run_.known || first().state() != SessionState::running) return false;
  const std::uint64_t next =
      !retry_ ? model_run_.next
              : retry_->log.switch_ops_before(retry_->is_busy() ? retry_->next : retry_->log.end());
  model_run_.words = {};  // the others' zeros leave rank 0's numbers as they are
  if (options_.rank == 0)
    model_run_.words = wire::words_of({model_run_.id, next, model_run_.goes_on});
  CalledOp called;
  called.op.data = reinterpret_cast<std::byte*>(model_run_.words.data());
  called.op.count = model_run_.words.size();
  called.op.dtype = wire::DType::uint32;
  called.op.collective = wire::Collective::open;
  called.op.array = wire::kModelStep;
  run_question_ = std::make_shared<Request::State>();
  submit_called(called, *run_question_, now);
  model_run_.first_op = first().next_op();
  return true;
}

// Returns true if it was the question's. Where that failed its epoch has, and so do ops that wait.
bool Progress::take_for_model_run(Request::Part& part) {
  if (part.whole != run_question_.get()) return false;
  if (!part.whole->finish(part)) return true;
  model_run_.known = !part.whole->failure;
  model_run_.goes_on = model_run_.goes_on || model_run_.known;
  run_question_.reset();
  return true;
}

}  // namespace tributary::worker
