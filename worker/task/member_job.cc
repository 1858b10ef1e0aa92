#include "worker/task/member_job.h"

#include <algorithm>
#include <thread>

#include "worker/task/task_error.h"

namespace tributary::task {
namespace {

constexpr Duration kLongest = Duration::seconds(1'000'000);
constexpr Duration kLinger = Duration::seconds(5);
// Between two tries, so that a switch that refuses at once is not flooded.
constexpr std::chrono::milliseconds kPause(100);
constexpr int kMostMismatches = 3;

// True if the job will go on to refuse this member.
bool is_refused_for_good(const CommunicatorError& error) {
  using wire::Reason;
  const Reason reason = error.reason();
  const bool taken = reason == Reason::sender_mismatch &&
                     std::string(error.what()).find("is already here") != std::string::npos;
  return taken || reason == Reason::unknown_job || reason == Reason::bad_rank ||
         reason == Reason::job_size_mismatch;
}

}  // namespace

Patience::Patience(std::optional<Duration> limit) {
  if (limit) end_ = Clock::now() + std::chrono::nanoseconds(limit->to_ns());
}

Duration Patience::left() const {
  if (!end_) return kLongest;
  const std::chrono::nanoseconds left = *end_ - Clock::now();
  return std::clamp(Duration::ns(left.count()), Duration::ms(1), kLongest);
}

void Patience::spend() {
  std::string why;
  try {
    throw;
  } catch (const TaskError&) {
    throw;
  } catch (const CommunicatorError& error) {
    if (is_refused_for_good(error)) throw;
    // One may come of members at different points; they meet then. The program's own stays.
    if (error.reason() == wire::Reason::op_mismatch && ++mismatches_ == kMostMismatches) throw;
    last_ = std::current_exception();
  } catch (const Again& again) {
    why = again.what();
  }
  if (end_ && Clock::now() >= *end_) {
    if (last_) std::rethrow_exception(last_);
    throw TaskError("the members did not agree in time: " + why);
  }
  std::this_thread::sleep_for(kPause);
}

void Patience::spend(bool& alone) {
  try {
    spend();
  } catch (const CommunicatorError& last) {
    alone = dynamic_cast<const TaskError*>(&last) == nullptr &&
            last.reason() != wire::Reason::op_mismatch && last.reason() != wire::Reason::overflow;
    throw;
  }
}

Communicator& MemberJob::join(Duration timeout) {
  if (communicator_) return *communicator_;
  CommunicatorOptions options = options_;
  options.join_timeout = timeout;
  communicator_ = Communicator::create(options);
  return *communicator_;
}

void MemberJob::part() {
  if (!communicator_) return;
  try {
    communicator_->barrier_async().wait_for(kLinger);
  } catch (const CommunicatorError&) {
    // Another member has left before: it needs nothing more.
  }
  leave();
}

}  // namespace tributary::task
