#include "tools/loadgen/job.h"

#include <algorithm>

namespace tributary::loadgen {

using worker::SessionState;

Job::Job(const JobOptions& options, std::vector<Player*> players)
    : options_(options),
      players_(std::move(players)),
      issued_at_(players_.front()->options().open_ops) {
  for (const Player* player : players_) {
    const auto late = options_.late.find(player->options().session.rank);
    late_.push_back(late == options_.late.end() ? Duration() : late->second);
  }
}

bool Job::joined() const {
  return std::all_of(players_.begin(), players_.end(),
                     [](const Player* p) { return p->state() == SessionState::running; });
}

bool Job::failed() const {
  return std::any_of(players_.begin(), players_.end(),
                     [](const Player* p) { return p->state() == SessionState::failed; });
}

std::uint64_t Job::least_issued() const {
  std::uint64_t least = issued_;
  for (const Player* player : players_) least = std::min(least, player->issued());
  return least;
}

void Job::run(Instant now) {
  if (!running_) next_ = now;
  running_ = true;
  if (failed()) return;
  while (!exhausted() && now >= next_ && issued_ - least_issued() < issued_at_.size()) {
    issued_at_[issued_ % issued_at_.size()] = now;
    ++issued_;
    if (options_.op_interval > Duration()) {
      lag_ = std::max(lag_, now - next_);
      next_ = next_ + options_.op_interval;
    }
    hand_out(now);
  }
  hand_out(now);
}

void Job::hand_out(Instant now) {
  for (std::size_t i = 0; i < players_.size(); ++i) {
    Player& player = *players_[i];
    while (player.issued() < issued_ && player.can_issue() &&
           now >= issued_at_[player.issued() % issued_at_.size()] + late_[i])
      player.issue(now);
  }
}

void Job::warmed_up() {
  lag_ = Duration();
  for (Player* player : players_) player->warmed_up();
}

bool Job::done() const {
  if (failed()) return true;
  return exhausted() && std::all_of(players_.begin(), players_.end(),
                                    [this](const Player* p) { return p->finished() == issued_; });
}

}  // namespace tributary::loadgen
