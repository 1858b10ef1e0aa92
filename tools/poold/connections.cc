#include "tools/poold/connections.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <utility>

namespace tributary::poold {
namespace {

void join_all(std::list<Connections::Connection>& ended) {
  for (Connections::Connection& connection : ended) connection.thread.join();
}

}  // namespace

Connections::Connections(const Limits& limits, Serve serve)
    : limits_(limits),
      serve_(std::move(serve)),
      pending_{Pending(limits.greeting), Pending(limits.greeting)} {}

Connections::~Connections() {
  end_all();
}

void Connections::shut(Connection& connection) {
  if (connection.fd >= 0) shutdown(connection.fd, SHUT_RDWR);
  connection.ending = true;
}

void Connections::end_all() {
  List ending;
  {
    const std::lock_guard lock(mutex_);
    for (Connection& connection : list_) shut(connection);
    ending.splice(ending.end(), list_);
  }
  join_all(ending);
}

std::size_t Connections::size() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(
      std::count_if(list_.begin(), list_.end(), [](const Connection& c) { return !c.done; }));
}

bool Connections::has_place(bool operates) const {
  const auto taken =
      std::count_if(list_.begin(), list_.end(), [operates](const Connection& connection) {
        return !connection.done && !connection.ending && connection.operates == operates;
      });
  return static_cast<std::size_t>(taken) < (operates ? limits_.operators : limits_.readers);
}

bool Connections::take_out(Pending& pending, List& to) {
  const auto oldest = pending.oldest();
  if (!oldest) return false;
  pending.remove(*oldest);
  shut(**oldest);
  const auto is_it = [&](const Connection& connection) { return &connection == *oldest; };
  to.splice(to.end(), list_, std::find_if(list_.begin(), list_.end(), is_it));
  return true;
}

void Connections::add(int fd, bool operates, Instant now) {
  List replaced;
  {
    const std::lock_guard lock(mutex_);
    forget_ended();
    if (!has_place(operates) && !take_out(pending_[operates ? 1 : 0], replaced)) {
      close(fd);
      return;
    }
    try {
      start(fd, operates, now);
    } catch (const std::exception&) {  // no thread is left, or no memory for one
      close(fd);
    }
  }
  join_all(replaced);
}

void Connections::start(int fd, bool operates, Instant now) {
  List fresh(1);
  Connection& connection = fresh.front();
  connection.fd = fd;
  connection.operates = operates;
  Pending& pending = pending_[operates ? 1 : 0];
  pending.add(&connection, now);
  try {
    connection.thread = std::thread([this, &connection] { run(connection); });
  } catch (...) {
    pending.remove(&connection);
    throw;
  }
  list_.splice(list_.end(), fresh);
}

void Connections::run(Connection& connection) {
  pool::MessageStream stream(connection.fd);
  serve_(connection, stream);
  const std::lock_guard lock(mutex_);
  pending_[connection.operates ? 1 : 0].remove(&connection);
  connection.fd = -1;  // the stream closes it when this returns
  connection.done = true;
}

bool Connections::greeted(Connection& connection) {
  const std::lock_guard lock(mutex_);
  return pending_[connection.operates ? 1 : 0].remove(&connection);
}

void Connections::tidy(Instant now) {
  const std::lock_guard lock(mutex_);
  for (Pending& pending : pending_)
    while (const auto late = pending.late(now)) {
      pending.remove(*late);
      shut(**late);
    }
  forget_ended();
}

void Connections::forget_ended() {
  for (auto at = list_.begin(); at != list_.end();) {
    if (!at->done) {
      ++at;
      continue;
    }
    at->thread.join();
    at = list_.erase(at);
  }
}

bool Connections::replace_one() {
  List replaced;
  {
    const std::lock_guard lock(mutex_);
    if (!take_out(pending_[0], replaced) && !take_out(pending_[1], replaced)) return false;
  }
  join_all(replaced);
  return true;
}

}  // namespace tributary::poold
