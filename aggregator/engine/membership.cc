#include "aggregator/engine/membership.h"

#include <algorithm>

namespace tributary::aggregator {
namespace {

// A rank that waits repeats its JOIN every 100 ms.
constexpr Duration kOnePeriod = Duration::ms(150);
constexpr Duration kSilence = Duration::ms(500);
// Between two questions; they are asked as the newcomer repeats its JOIN.
constexpr Duration kAnswerTime = Duration::ms(90);
constexpr Duration kTwoQuestions = Duration::ms(190);
constexpr Duration kSameMoment = Duration::us(1);  // what was heard then is no answer
// In a row without an answer, until the rank is a newcomer's.
constexpr std::uint8_t kQuestions = 2;
constexpr std::uint8_t kQuestionsIfVouched = 5;
// A newcomer that has not claimed the rank for so long begins anew.
constexpr Duration kClaimLasts = Duration::seconds(1);

std::uint32_t microseconds(Instant at) {
  return static_cast<std::uint32_t>(static_cast<std::uint64_t>(at.to_ns()) / 1000);
}

}  // namespace

Membership::Membership(std::uint32_t workers, Duration lease,
                       std::vector<std::uint16_t> pinned_ports)
    : lease_(lease), members_(workers), pinned_ports_(std::move(pinned_ports)), count_(workers) {
  pinned_ports_.resize(workers, kAnyPort);
}

// The same process behind another network card, or a new virtual link: its nonce says so. Once it
// has sent data, only a new epoch moves it.
bool Membership::may_rebind(const Member& m, const Endpoint& from) const {
  return !m.active && m.peer.is_same_but_station(from);
}

// A restarted process keeps its host but gets another flow, as a second process there does. A rank
// that waits is not asked: it repeats its JOIN.
Membership::Join Membership::contest(Member& m, const Endpoint& from, Instant now) const {
  const Duration silent = now - m.last_seen;
  if (m.peer == from || silent >= lease_) return Join::restarted;
  const bool same_host = m.peer.is_same_host(from);
  const Duration since = Duration::ns(std::int64_t{microseconds(now) - m.asked_us} * 1000);
  if (m.questions == 0 || since >= kClaimLasts) {
    m.questions = 0;
    m.vouched = false;
  }
  if (same_host && m.joined && silent >= (m.vouched ? kSilence : kTwoQuestions))
    return Join::restarted;
  const bool answered = m.questions != 0 && silent + kSameMoment <= since;
  m.vouched = m.vouched || answered;
  if (m.questions == 0 || since >= kAnswerTime) {
    if (answered) m.questions = 0;
    if (m.questions == (m.vouched ? kQuestionsIfVouched : kQuestions)) {
      if (same_host) return Join::restarted;
      m.questions = 0;
      m.vouched = false;
    }
    ++m.questions;
    m.question_due = true;
    m.asked_us = microseconds(now);
  }
  if (m.vouched) return Join::taken;
  return same_host ? Join::asked : Join::occupied;
}

std::uint32_t Membership::contradicting(std::uint32_t rank, std::uint32_t size, Instant now) const {
  for (std::uint32_t other = 0; other < size; ++other) {
    const Member& m = members_[other];
    if (other != rank && m.joined && m.size != size && rank < m.size &&
        now - m.last_seen < kSilence)
      return other;
  }
  return kNone;
}

std::uint32_t Membership::of_other_run(std::uint32_t rank, std::uint64_t run, Instant now) const {
  if (run == 0 || run == run_ || state_ == JobState::running) return kNone;
  for (std::uint32_t other = 0; other < members_.size(); ++other) {
    const Member& m = members_[other];
    if (other != rank && m.joined && m.names_run && now - m.last_seen < kSilence) return other;
  }
  return kNone;
}

void Membership::take_run(std::uint32_t rank, std::uint64_t run) {
  members_[rank].names_run = run != 0;
  if (run != 0) run_ = run;
}

std::uint64_t Membership::run() const {
  const auto says = [](const Member& m) { return m.joined && m.names_run; };
  return std::any_of(members_.begin(), members_.end(), says) ? run_ : 0;
}

Membership::Join Membership::join(std::uint32_t rank, std::uint64_t nonce, const Endpoint& from,
                                  Instant now, std::uint16_t size) {
  Member& m = members_[rank];
  if (!may_be_at(rank, from.port())) return Join::wrong_port;
  if (state_ != JobState::running) return admit(m, nonce, from, now, size);

  if (m.nonce == nonce) {
    if (!m.present) return Join::stale;
    if (m.peer != from && !may_rebind(m, from)) return Join::occupied;
    m.peer = from;
    m.last_seen = now;
    return Join::repeated;
  }
  if (!m.present) return Join::closing;
  return contest(m, from, now);
}

bool Membership::take_question(std::uint32_t rank) {
  const bool due = members_[rank].question_due;
  members_[rank].question_due = false;
  return due;
}

Membership::Join Membership::admit(Member& m, std::uint64_t nonce, const Endpoint& from,
                                   Instant now, std::uint16_t size) {
  if (m.active && m.nonce == nonce) return Join::stale;
  if (m.joined && m.nonce != nonce)
    if (const Join said = contest(m, from, now); said != Join::restarted) return said;
  if (m.joined && m.nonce == nonce && m.peer != from && !may_rebind(m, from)) return Join::occupied;
  if (!m.joined || m.nonce != nonce) {
    newest_ = now;
    m.questions = 0;
  }
  if (!m.joined) ++joined_;
  m.joined = true;
  m.left = false;
  m.size = size;
  m.active = false;
  m.nonce = nonce;
  m.peer = from;
  m.last_seen = now;
  state_ = JobState::forming;
  next_scan_ = std::min(next_scan_, now + lease_);
  return all_joined(now) ? Join::complete : Join::waiting;
}

bool Membership::all_joined(Instant now) const {
  if (state_ != JobState::forming || joined_ < workers()) return false;
  return std::all_of(all().begin(), all().end(), [&](const Member& m) {
    return waits(static_cast<std::uint32_t>(&m - members_.data())) &&
           m.last_seen + kOnePeriod >= newest_ && now - m.last_seen < kSilence;
  });
}

void Membership::start(std::uint16_t epoch, Instant now) {
  for (Member& m : members_) {
    m.joined = false;
    m.present = static_cast<std::size_t>(&m - members_.data()) < count_;
    m.active = false;
    m.questions = 0;
    m.last_seen = now;
  }
  epoch_ = epoch;
  joined_ = 0;
  present_ = workers();
  state_ = JobState::running;
  next_scan_ = now + lease_;
}

bool Membership::is_present(std::uint32_t rank, const Endpoint& from, Instant now) {
  Member& m = members_[rank];
  if (!m.present || m.peer != from) return false;
  m.last_seen = now;
  m.active = true;
  return true;
}

void Membership::heard(std::uint32_t rank, Instant when) {
  Member& m = members_[rank];
  if (!m.present) return;
  m.last_seen = std::max(m.last_seen, when);
  m.active = true;
}

void Membership::leave(std::uint32_t rank) {
  Member& m = members_[rank];
  m.left = true;
  if (m.joined) {
    m.joined = false;
    if (--joined_ == 0 && state_ == JobState::forming) state_ = JobState::idle;
  }
  if (!m.present) return;
  m.present = false;
  if (--present_ == 0) state_ = JobState::idle;
}

void Membership::abort() {
  for (Member& m : members_) m.present = m.joined = false;
  present_ = joined_ = 0;
  state_ = JobState::aborted;
}

void Membership::adopt(std::uint32_t rank, const Membership& before, std::uint32_t other) {
  members_[rank] = before.members_[other];
  members_[rank].present = members_[rank].joined = false;
}

void Membership::adopt_epoch(const Membership& before) {
  epoch_ = before.epoch_;
  state_ = before.state_ == JobState::forming ? JobState::idle : before.state_;
}

bool Membership::all_able() const {
  return std::all_of(all().begin(), all().end(), [](const Member& m) { return m.able; });
}

void Membership::ask_all() {
  for (Member& m : members_) m.answered = false;
}

bool Membership::all_answered() const {
  return std::all_of(members_.begin(), members_.end(),
                     [](const Member& m) { return m.answered || !m.present; });
}

bool Membership::any_waits_but(std::uint32_t rank, std::uint32_t end) const {
  for (std::uint32_t other = 0; other < workers() && other < end; ++other)
    if (other != rank && waits(other)) return true;
  return false;
}

std::uint32_t Membership::lapsed(Instant now) {
  if (!scan_due(now) || (state_ != JobState::running && state_ != JobState::forming))
    return workers();
  Instant earliest = now;
  std::uint32_t found = workers();
  for (std::uint32_t rank = 0; rank < members_.size(); ++rank) {
    Member& m = members_[rank];
    if (!m.present && !m.joined) continue;
    if (now - m.last_seen < lease_) {
      earliest = std::min(earliest, m.last_seen);
    } else if (m.joined) {
      leave(rank);
      m.left = false;
    } else if (found == workers()) {
      found = rank;
    }
  }
  next_scan_ = earliest + lease_;
  return found;
}

std::size_t Membership::awaited(std::span<std::uint32_t> out, Instant now) const {
  std::size_t written = 0;
  for (std::uint32_t rank = 0; rank < workers() && written < out.size(); ++rank) {
    const Member& m = members_[rank];
    const bool is_there = waits(rank) && now - m.last_seen < kSilence;
    if (state_ == JobState::running ? m.present : !is_there) out[written++] = rank;
  }
  return written;
}

std::size_t Membership::departed(std::span<std::uint32_t> out) const {
  std::size_t written = 0;
  for (std::uint32_t rank = 0; rank < workers() && written < out.size(); ++rank)
    if (!members_[rank].present) out[written++] = rank;
  return written;
}

}  // namespace tributary::aggregator
