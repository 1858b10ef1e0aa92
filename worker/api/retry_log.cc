#include "worker/api/retry_log.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tributary::worker {
namespace {

using wire::Collective;

// A sum whose bits depend on the order of its parts, or parameters that the server may have stepped
// since: done again, it might have others.
bool needs_its_result(const CalledOp& called) {
  if (wire::concerns_model(called.op.collective)) return true;
  return called.op.collective == Collective::allreduce &&
         (called.block_scaled || wire::is_float(called.op.dtype));
}

// The result takes the place of this rank's input, or of a part of it.
bool overwrites(const Op& op, std::uint32_t rank) {
  switch (op.collective) {
    case Collective::allreduce:
    case Collective::open:
    case Collective::update:
    case Collective::reduce_scatter: return true;
    case Collective::reduce: return op.root == rank;
    default: return false;
  }
}

std::unique_ptr<std::byte[]> room_for(std::size_t bytes) {
  return std::make_unique_for_overwrite<std::byte[]>(bytes);
}

}  // namespace

std::size_t RetryLog::input_bytes(const Op& op) const {
  const bool is_sent = op.collective != Collective::broadcast || op.root == rank_;
  if (op.collective == Collective::barrier || !is_sent) return 0;
  const std::size_t parts = op.collective == Collective::reduce_scatter ? ranks_ : 1;
  return op.count * parts * wire::size_of(op.dtype);
}

void RetryLog::start(const wire::StartInfo& info, bool all_hold) {
  shards_ = info.shards;
  window_ = info.window;
  summed_.assign(std::size_t{info.planes} * shards_, 0);
  for (Entry& entry : entries_) {
    entry.earlier = true;
    entry.known_at.clear();
  }
  while (all_hold && first() < held_) pop();
}

void RetryLog::begin(const State& op) {
  Entry entry;
  entry.state = op;
  entry.called = called_op(*op);
  op->log_number = end_++;
  entry.switch_ops_before = switch_ops_;
  switch_ops_ += entry.called.block_scaled && !entry.called.exponent ? 2 : 1;
  has_models_ = has_models_ || wire::concerns_model(entry.called.op.collective);
  if (overwrites(entry.called.op, rank_))
    copy(entry, entry.called.op.data, input_bytes(entry.called.op));
  entries_.push_back(std::move(entry));
}

void RetryLog::copy(Entry& entry, const std::byte* from, std::size_t bytes) {
  if (bytes == 0) return;
  if (entry.copy == nullptr) {
    entry.copy = room_for(bytes);
    entry.copy_bytes = bytes;
    copied_bytes_ += bytes;
  }
  std::memcpy(entry.copy.get(), from, bytes);
}

void RetryLog::finished(const Request::State& op) {
  at(op.log_number).done = true;
}

void RetryLog::deliver(std::vector<State>& ended) {
  while (held_ < end_ && at(held_).done) {
    Entry& entry = at(held_++);
    keep(entry);
    kept_bytes_ += entry.copy_bytes;
    // The op failed here alone: there is no result that another rank could get.
    if (needs_its_result(entry.called) && entry.state->failure) repeatable_ = held_;
    count(entry);
    entry.state->complete();
    entry.state->self.reset();
    ended.push_back(std::exchange(entry.state, nullptr));
  }
  forget();
}

// The caller may change all memory of the op after this.
void RetryLog::keep(Entry& entry) {
  const Op& op = entry.called.op;
  if (needs_its_result(entry.called) && !entry.state->failure)
    copy(entry, op.data, input_bytes(op));
  else if (!overwrites(op, rank_))
    copy(entry, op.data, input_bytes(op));
}

void RetryLog::count(Entry& entry) {
  if (entry.earlier) return;  // done again, or its parts are of another epoch
  const bool all_send = !wire::moves_data(entry.called.op.collective);
  entry.known_at.assign(summed_.size(), 0);
  for (const Request::Part& part : entry.state->parts)
    for (std::uint32_t shard = 0; shard < shards_ && shard < part.chunks; ++shard) {
      const std::size_t place = std::size_t{part.plane} * shards_ + shard;
      const std::uint32_t chunks = (part.chunks - shard + shards_ - 1) / shards_;
      summed_[place] += all_send ? chunks : (shard == 0 ? 1 : 0);
      entry.known_at[place] = summed_[place] + window_;
    }
}

bool RetryLog::is_known(const Entry& entry) const {
  for (std::size_t place = 0; place < entry.known_at.size(); ++place)
    if (entry.known_at[place] > summed_[place]) return false;
  return true;
}

// Once an op of this epoch has a result, every rank has done again what it lacked from before.
void RetryLog::forget() {
  if (held_ == first()) return;
  const bool begun_here = !at(held_ - 1).earlier;
  while (first() < held_) {
    const Entry& oldest = entries_.front();
    if (oldest.earlier && !begun_here) return;  // it may be about to be done again
    const bool known = oldest.earlier || is_known(oldest);
    if (!known && first() + kMaxOpenOps >= held_ && kept_bytes_ <= most_bytes_) return;
    pop();
  }
}

void RetryLog::pop() {
  copied_bytes_ -= entries_.front().copy_bytes;
  kept_bytes_ -= entries_.front().copy_bytes;
  entries_.pop_front();
}

void RetryLog::fail(const Failure& cause, std::uint32_t job) {
  for (std::uint64_t number = held_; number < end_; ++number) {
    Entry& entry = at(number);
    if (std::exchange(entry.done, true)) continue;
    if (!entry.state->failure)
      entry.state->failure = not_done(job, static_cast<std::uint32_t>(number), cause);
  }
}

CalledOp RetryLog::again(std::uint64_t number, std::uint32_t holder,
                         std::unique_ptr<std::byte[]>& scratch) {
  Entry& entry = at(number);
  CalledOp call = entry.called;
  Op& op = call.op;
  const bool delivered = entry.state == nullptr;
  const std::size_t bytes = op.count * wire::size_of(op.dtype);
  if (needs_its_result(entry.called)) {
    call.block_scaled = false;
    op.dtype = entry.called.block_scaled ? wire::DType::float32 : op.dtype;
    op.collective = Collective::broadcast;
    op.root = holder;
    if (delivered) op.data = entry.copy.get();
    return call;
  }
  if (!delivered) {
    if (op.collective == Collective::reduce_scatter)
      op.data = entry.copy.get();
    else if (entry.copy_bytes > 0)
      std::memcpy(op.data, entry.copy.get(), entry.copy_bytes);
    return call;
  }
  if (op.collective == Collective::barrier) return call;
  op.data = entry.copy.get();
  if (op.has_owners()) {
    scratch = room_for(op.collective == Collective::all_gather ? bytes * ranks_ : bytes);
    op.output = scratch.get();
  } else if (entry.copy_bytes == 0 || overwrites(op, rank_)) {
    scratch = room_for(bytes);
    if (entry.copy_bytes > 0) std::memcpy(scratch.get(), entry.copy.get(), bytes);
    op.data = scratch.get();
  }
  return call;
}

void RetryLog::done_again(std::uint64_t number, std::optional<Failure> failure) {
  Entry& entry = at(number);
  entry.done = true;
  if (entry.state == nullptr) return;
  entry.state->failure = std::move(failure);
  entry.state->left_out.clear();
  entry.state->lacking.clear();
}

void RetryLog::lose_epoch() {
  for (std::uint64_t number = held_; number < end_; ++number) at(number).done = false;
}

RetryLog::State RetryLog::reopen(std::uint64_t number, const wire::StartInfo& info) {
  Entry& entry = at(number);
  entry.earlier = false;
  Request::State& state = *entry.state;
  CalledOp call = entry.called;
  if (call.op.collective == Collective::reduce_scatter)
    call.op.data = entry.copy.get();
  else if (entry.copy_bytes > 0)
    std::memcpy(call.op.data, entry.copy.get(), entry.copy_bytes);
  state.failure.reset();
  state.finished_parts = 0;
  state.left_out.clear();
  state.lacking.clear();
  split_called(call, rank_, ranks_, info, state);
  return entry.state;
}

}  // namespace tributary::worker
