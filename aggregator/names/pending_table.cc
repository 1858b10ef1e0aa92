#include "aggregator/names/pending_table.h"

#include <bit>
#include <cstring>

namespace tributary::aggregator {
namespace {

constexpr std::uint32_t kAskersPerRow = 4;

template <typename Items>
std::uint32_t chain(Items& items) {
  for (std::size_t i = 0; i + 1 < items.size(); ++i)
    items[i].next = static_cast<std::uint32_t>(i + 1);
  return 0;
}

}  // namespace

PendingTable::PendingTable(std::uint32_t rows)
    : rows_(rows),
      askers_(std::size_t{rows} * kAskersPerRow),
      buckets_(std::bit_ceil(std::size_t{rows}), kNone),
      free_row_(chain(rows_)),
      free_asker_(chain(askers_)) {}

std::size_t PendingTable::table_bytes(std::uint32_t rows) {
  return rows * (sizeof(Row) + kAskersPerRow * sizeof(Waiting) + 8);
}

std::uint32_t PendingTable::find(std::string_view name, std::uint64_t hash) const {
  std::uint32_t at = buckets_[hash & (buckets_.size() - 1)];
  while (at != kNone && (rows_[at].hash != hash || rows_[at].name() != name)) at = rows_[at].next;
  return at;
}

bool PendingTable::has_room_for(const Asker& asker) const {
  return free_asker_ != kNone && asked_behind_[asker.peer.port()] < askers_.size() / 2;
}

PendingTable::Ask PendingTable::ask(std::string_view name, std::uint64_t hash, std::uint32_t job,
                                    const Asker& asker, bool may_open, Instant now) {
  const std::uint32_t row = find(name, hash);
  if (row != kNone) return join(row, asker, now);
  if (!may_open || free_row_ == kNone || !has_room_for(asker)) return Ask::full;
  note(open(name, hash, job, now), asker);
  return Ask::opened;
}

PendingTable::Ask PendingTable::join(std::uint32_t row, const Asker& asker, Instant now) {
  Row& r = rows_[row];
  std::uint32_t at = r.first;
  while (at != kNone && askers_[at].who != asker) at = askers_[at].next;
  if (at == kNone) {
    if (r.askers == kMaxAskers || !has_room_for(asker)) return Ask::full;
    note(row, asker);
    return Ask::waits;
  }
  if (now - r.sent < kResend) return Ask::waits;
  r.sent = now;
  return Ask::send;
}

std::uint32_t PendingTable::open(std::string_view name, std::uint64_t hash, std::uint32_t job,
                                 Instant now) {
  const std::uint32_t row = free_row_;
  Row& r = rows_[row];
  free_row_ = r.next;
  r.hash = hash;
  r.opened = r.sent = now;
  r.job = job;
  r.first = kNone;
  r.askers = 0;
  r.name_bytes = static_cast<std::uint16_t>(name.size());
  std::memcpy(r.text.data(), name.data(), name.size());
  r.next = bucket(hash);
  bucket(hash) = row;
  by_age_.append(rows_, row);
  ++used_rows_;
  return row;
}

void PendingTable::note(std::uint32_t row, const Asker& asker) {
  const std::uint32_t at = free_asker_;
  free_asker_ = askers_[at].next;
  askers_[at] = {asker, rows_[row].first};
  rows_[row].first = at;
  ++rows_[row].askers;
  ++asked_behind_[asker.peer.port()];
}

void PendingTable::remove(std::uint32_t row) {
  Row& r = rows_[row];
  while (r.first != kNone) {
    Waiting& waiting = askers_[r.first];
    --asked_behind_[waiting.who.peer.port()];
    const std::uint32_t next = waiting.next;
    waiting.next = free_asker_;
    free_asker_ = r.first;
    r.first = next;
  }
  std::uint32_t* link = &bucket(r.hash);
  while (*link != row) link = &rows_[*link].next;
  *link = r.next;
  by_age_.remove(rows_, row);
  r.next = free_row_;
  free_row_ = row;
  --used_rows_;
}

void PendingTable::forget(std::uint32_t job) {
  for (std::uint32_t row = by_age_.oldest(); row != kNone;) {
    const std::uint32_t next = rows_[row].newer;
    if (rows_[row].job == job) remove(row);
    row = next;
  }
}

std::uint32_t PendingTable::expire(Instant now) {
  const std::uint32_t row = by_age_.oldest();
  if (row == kNone || now - rows_[row].opened < kLifetime) return 0;
  const std::uint32_t job = rows_[row].job;
  remove(row);
  return job;
}

}  // namespace tributary::aggregator
