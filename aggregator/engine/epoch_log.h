// How the latest epochs of one job began and ended: a ring of records, for the switch's events.
//
//   began ──▶ left      all ranks have left
//         ├─▶ drained   after an op that all ranks finished
//         └─▶ aborted   for a reason
//
// The engine's thread writes, and reads when a control thread asks (Engine::epoch_records()). A
// reader finds by the records' numbers how many it has missed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/time.h"
#include "core/wire/types.h"

namespace tributary::aggregator {

struct EpochRecord {
  enum class What : std::uint8_t { began, left, drained, aborted };
  static constexpr std::size_t kMostRanks = 16;

  std::uint64_t serial = 0;  // over all jobs of the engine, from 1 on
  std::uint64_t nth = 0;     // of the job's records, from 0 on
  std::uint64_t first = 0;   // serial of the job's first record: tells two jobs of one id apart
  Instant at;                // of an end: up to 0.1 ms before it
  Duration pause;            // began, and resumes: how long callers waited
  std::uint32_t job = 0;
  // drained: id of the switch that wanted it, or wire::kByRanks; aborted: of the one that is lost,
  // or has another configuration, 0: none.
  std::uint32_t by = 0;
  std::uint32_t op = 0;  // drained: how many ops the epoch had
  std::uint16_t epoch = 0;
  std::uint16_t count = 0;  // began: its ranks; aborted: the ranks that the abort names
  std::array<std::uint16_t, kMostRanks> ranks{};  // aborted: the first of these
  What what = What::began;
  std::uint8_t plane = 0;
  bool resumes = false;                      // began: its ranks go on from the epoch before
  bool retries = false;                      // which they have lost
  wire::Reason reason = wire::Reason::none;  // aborted

  [[nodiscard]] std::span<const std::uint16_t> named() const {
    return std::span(ranks).first(count < kMostRanks ? count : kMostRanks);
  }
};

class EpochLog {
 public:
  static constexpr std::size_t kMost = 32;

  // Sets the record's `nth` and `first`.
  void add(EpochRecord record);
  // Appends the records that are kept of those after this serial, oldest first.
  void add_newer(std::uint64_t serial, std::vector<EpochRecord>& into) const;
  // 0: there is none.
  [[nodiscard]] std::uint64_t newest() const { return total_ == 0 ? 0 : at(total_ - 1).serial; }
  // The time of the latest record.
  [[nodiscard]] Instant latest() const { return total_ == 0 ? Instant() : at(total_ - 1).at; }

 private:
  [[nodiscard]] const EpochRecord& at(std::uint64_t nth) const { return records_[nth % kMost]; }

  std::uint64_t total_ = 0;
  std::uint64_t first_ = 0;
  std::array<EpochRecord, kMost> records_{};
};

// The records of an engine after some serial, in order; `until` is the latest serial.
struct EpochRecords {
  std::uint64_t until = 0;
  std::vector<EpochRecord> records;
};

}  // namespace tributary::aggregator
