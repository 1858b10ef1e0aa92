// Turns the engines' records of epochs into events. Pure: records and time are arguments.
//
// An engine keeps the latest records of a job alone (aggregator::EpochLog::kMost): where more came
// between two looks, a line says how many are missing before those that are told.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "aggregator/engine/epoch_log.h"
#include "control/events/event_log.h"

namespace tributary::control {

struct SeenEpoch {
  std::size_t lcore = 0;  // where the job is
  aggregator::EpochRecord record;
  std::chrono::system_clock::time_point at;
};

class EpochLines {
 public:
  using Names = std::map<std::uint32_t, std::string>;  // by job
  // `epochs`: since the look before; of each lcore in order. `jobs`: those of the configuration.
  // `whole`: no lcore is missing.
  std::vector<Event> look(std::vector<SeenEpoch> epochs, const Names& jobs, bool whole);

 private:
  using Key = std::tuple<std::uint32_t, std::uint8_t, std::size_t>;
  struct Known {
    std::uint64_t first = 0;  // which job of this id it was
    std::uint64_t next = 0;   // number of the next record
  };
  void tell(const SeenEpoch& seen, std::vector<Event>& out);

  std::map<Key, Known> known_;
  Names names_;
};

}  // namespace tributary::control
