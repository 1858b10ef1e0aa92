#include "worker/names/name_calls.h"

#include <chrono>
#include <utility>

#include "core/digest.h"

namespace tributary::worker {

void NameCalls::submit(Call call) {
  // The progress thread has other calls to serve meanwhile.
  if (call->kind == NameCall::Kind::put) call->digest = xxh64(call->value);
  const std::lock_guard lock(mutex_);
  if (!closed_) {
    inbox_.push_back(std::move(call));
    has_inbox_ = true;
    return;
  }
  call->failure = name_failed(*call, "this rank has left the job");
  call->done = true;
}

bool NameCalls::wait_for(const NameCall& call, Duration limit) const {
  std::unique_lock lock(mutex_);
  return ended_.wait_for(lock, std::chrono::nanoseconds(limit.to_ns()), [&] { return call.done; });
}

void NameCalls::take(Instant now) {
  if (!has_inbox_) return;
  std::vector<Call> taken;
  {
    const std::lock_guard lock(mutex_);
    taken.swap(inbox_);
    has_inbox_ = false;
  }
  for (Call& call : taken) client_.start(std::move(call), now);
}

bool NameCalls::send(Transport& transport, Instant now) {
  client_.poll(now, batch_);
  return batch_.size() == 0 || transport.send(batch_.datagrams()) == batch_.size();
}

void NameCalls::publish() {
  bool some = false;
  while (const Call ended = client_.take_finished()) {
    const std::lock_guard lock(mutex_);
    ended->done = some = true;
  }
  if (some) ended_.notify_all();
}

void NameCalls::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  take({});
  fail("this rank leaves the job");
  publish();
}

}  // namespace tributary::worker
