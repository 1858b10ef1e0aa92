// Requests for names that wait for answers: who asked for what, so that one request goes on and its
// answer returns to all. Bounded in rows, in rows of a job, in askers of a port and of a row, and
// in time; a full table refuses.
//
// All memory is taken at construction. Owned by NameEngine.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "config/model/switch_config.h"
#include "core/endpoint.h"
#include "core/index_list.h"
#include "core/time.h"
#include "core/wire/data_name.h"

namespace tributary::aggregator {

class PendingTable {
 public:
  static constexpr Duration kLifetime = Duration::seconds(1);
  // An asker that asks again gets its request sent on again, but not more often.
  static constexpr Duration kResend = Duration::ms(5);
  static constexpr std::uint32_t kMaxAskers = 128;  // of a row

  // `rows` names at once, and four askers for each on average. A port has half of the askers at
  // most.
  explicit PendingTable(std::uint32_t rows);

  struct Asker {
    Endpoint peer;
    bool is_parent = false;
    bool operator==(const Asker&) const = default;
  };
  enum class Ask : std::uint8_t {
    send,    // noted; the request must be sent on
    waits,   // noted; one is under way
    opened,  // as send; a row more of the job
    full,    // not noted
  };
  // `may_open`: the job may have a row more.
  Ask ask(std::string_view name, std::uint64_t hash, std::uint32_t job, const Asker& asker,
          bool may_open, Instant now);

  // Calls answer(asker) for all who asked for the name, and forgets them. Returns false if none.
  template <typename Answer>
  bool release(std::string_view name, std::uint64_t hash, Answer answer) {
    const std::uint32_t row = find(name, hash);
    if (row == kNone) return false;
    for (std::uint32_t at = rows_[row].first; at != kNone; at = askers_[at].next)
      answer(askers_[at].who);
    remove(row);
    return true;
  }
  [[nodiscard]] bool has(std::string_view name, std::uint64_t hash) const {
    return find(name, hash) != kNone;
  }
  // Forgets the requests of a job.
  void forget(std::uint32_t job);
  // Forgets a row that is too old; returns its job, or 0: there is none.
  std::uint32_t expire(Instant now);
  [[nodiscard]] std::uint32_t size() const { return used_rows_; }
  [[nodiscard]] static std::size_t table_bytes(std::uint32_t rows);

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;
  struct Row {
    std::uint64_t hash = 0;
    Instant opened;
    Instant sent;
    std::uint32_t job = 0;
    std::uint32_t first = kNone;  // asker
    std::uint32_t askers = 0;
    std::uint32_t next = kNone;  // of the same bucket, or free
    std::uint32_t older = kNone;
    std::uint32_t newer = kNone;
    std::uint16_t name_bytes = 0;
    std::array<char, wire::kMaxNameBytes> text;
    [[nodiscard]] std::string_view name() const { return {text.data(), name_bytes}; }
  };
  struct Waiting {
    Asker who;
    std::uint32_t next = kNone;
  };

  [[nodiscard]] std::uint32_t find(std::string_view name, std::uint64_t hash) const;
  std::uint32_t open(std::string_view name, std::uint64_t hash, std::uint32_t job, Instant now);
  Ask join(std::uint32_t row, const Asker& asker, Instant now);
  void note(std::uint32_t row, const Asker& asker);
  [[nodiscard]] bool has_room_for(const Asker& asker) const;
  void remove(std::uint32_t row);
  std::uint32_t& bucket(std::uint64_t hash) { return buckets_[hash & (buckets_.size() - 1)]; }

  std::vector<Row> rows_;
  std::vector<Waiting> askers_;
  std::vector<std::uint32_t> buckets_;
  IndexList<Row, &Row::older, &Row::newer> by_age_;
  std::array<std::uint32_t, config::kMaxPorts> asked_behind_{};  // by port
  std::uint32_t free_row_ = kNone;
  std::uint32_t free_asker_ = kNone;
  std::uint32_t used_rows_ = 0;
};

}  // namespace tributary::aggregator
