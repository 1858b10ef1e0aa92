#include "manager/etcd/campaign.h"

#include <utility>

namespace tributary::manager {
namespace {

constexpr std::chrono::milliseconds kTurn{200};

}  // namespace

Campaign::~Campaign() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Campaign::start(Leader own, std::chrono::seconds lease) {
  thread_ = std::thread([this, own = std::move(own), lease] { run(own, lease); });
}

bool Campaign::is_won() const {
  const std::lock_guard lock(mutex_);
  return won_ != nullptr;
}

std::unique_ptr<Leadership> Campaign::take() {
  const std::lock_guard lock(mutex_);
  return std::move(won_);
}

Campaign::State Campaign::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

void Campaign::try_once(const Leader& own, std::chrono::seconds lease) {
  State state;
  std::unique_ptr<Leadership> won;
  try {
    Election election = try_lead(etcd_, own, lease);
    won = std::move(election.won);
    state = {!election.leader.name.empty(),
             election.leader.name.empty()
                 ? "no manager leads yet"
                 : "manager " + election.leader.name + " leads, at " + election.leader.address};
  } catch (const StoreError& error) {
    state = {false, std::string("no manager is known to lead: ") + error.what()};
  } catch (const std::exception& error) {  // no thread or memory is left
    state = {false, std::string("cannot lead: ") + error.what()};
  }
  const std::lock_guard lock(mutex_);
  state_ = std::move(state);
  won_ = std::move(won);
}

void Campaign::run(const Leader& own, std::chrono::seconds lease) {
  for (;;) {
    try_once(own, lease);
    ++turns_;
    std::unique_lock lock(mutex_);
    if (won_ || wake_.wait_for(lock, kTurn, [this] { return stopping_; })) return;
  }
}

}  // namespace tributary::manager
