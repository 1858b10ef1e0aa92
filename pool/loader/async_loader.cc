#include "pool/loader/async_loader.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <set>

namespace tributary::pool {
namespace {

// A batch of the loader has at most so many records, or is a single request.
constexpr std::size_t kMostJoined = 1024;

}  // namespace

AsyncLoader::AsyncLoader(Loader& loader, std::size_t most_waiting)
    : loader_(loader), most_waiting_(most_waiting) {}

AsyncLoader::~AsyncLoader() {
  if (!queue_) return;
  if (process_ != getpid()) {
    static_cast<void>(queue_.release());  // the parent's; its thread does not exist here
    return;
  }
  {
    const std::lock_guard lock(queue_->mutex);
    queue_->stopping = true;
  }
  queue_->changed.notify_all();
  queue_->thread.join();
}

AsyncLoader::Queue& AsyncLoader::queue() {
  const std::lock_guard lock(mutex_);
  if (process_ != getpid()) {
    static_cast<void>(queue_.release());
    queue_ = std::make_unique<Queue>();
    queue_->thread = std::thread([this, its = queue_.get()] { run(*its); });
    process_ = getpid();
  }
  return *queue_;
}

void AsyncLoader::get_batch(std::vector<std::uint64_t> ids,
                            std::vector<std::span<std::byte>> targets, Done done) {
  loader_.check(ids, targets);
  Queue& its = queue();
  std::unique_lock lock(its.mutex);
  its.changed.wait(lock, [&] { return its.waiting.size() < most_waiting_; });
  its.waiting.push_back({std::move(ids), std::move(targets), std::move(done)});
  ++its.begun;
  its.changed.notify_all();
}

void AsyncLoader::wait() {
  Queue& its = queue();
  std::unique_lock lock(its.mutex);
  its.changed.wait(lock, [&its, begun = its.begun] { return its.ended >= begun; });
}

bool AsyncLoader::wait_for(Duration limit) {
  Queue& its = queue();
  std::unique_lock lock(its.mutex);
  return its.changed.wait_for(lock, std::chrono::nanoseconds(limit.to_ns()),
                              [&its, begun = its.begun] { return its.ended >= begun; });
}

void AsyncLoader::run(Queue& its) {
  for (;;) {
    std::vector<Request> taken;
    {
      std::unique_lock lock(its.mutex);
      its.changed.wait(lock, [&] { return its.stopping || !its.waiting.empty(); });
      if (its.waiting.empty()) return;
      std::size_t records = 0;
      while (!its.waiting.empty() &&
             (taken.empty() || records + its.waiting.front().ids.size() <= kMostJoined)) {
        records += its.waiting.front().ids.size();
        taken.push_back(std::move(its.waiting.front()));
        its.waiting.pop_front();
      }
    }
    its.changed.notify_all();
    load(taken);
    {
      const std::lock_guard lock(its.mutex);
      its.ended += taken.size();
    }
    its.changed.notify_all();
  }
}

void AsyncLoader::load(const std::vector<Request>& requests) {
  std::vector<std::uint64_t> ids;
  std::vector<std::span<std::byte>> targets;
  for (const Request& request : requests) {
    ids.insert(ids.end(), request.ids.begin(), request.ids.end());
    targets.insert(targets.end(), request.targets.begin(), request.targets.end());
  }
  std::exception_ptr problem;
  std::set<std::uint64_t> unread;
  std::string text;
  try {
    loader_.get_batch(ids, targets);
  } catch (const LoadError& error) {
    unread.insert(error.ids().begin(), error.ids().end());
    text = error.what();
  } catch (...) {
    problem = std::current_exception();
  }
  for (const Request& request : requests) {
    std::vector<std::uint64_t> its;
    std::copy_if(request.ids.begin(), request.ids.end(), std::back_inserter(its),
                 [&](std::uint64_t id) { return unread.contains(id); });
    request.done(!its.empty() ? std::make_exception_ptr(LoadError(text, std::move(its))) : problem);
  }
}

}  // namespace tributary::pool
