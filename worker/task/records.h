// Small records that all members of a job exchange, as worker/python/tributary/_task/records.py has
// them: one JSON object in 2,048 bytes, filled up with zeros, by all_gather.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "worker/api/communicator.h"

namespace tributary::task {

// A member's account of itself when it meets others.
struct Hello {
  std::string role = "worker";
  std::string stage;  // "task", "rounds" or "result"
  std::string task;   // identity of the task that it has; "": none
  std::uint64_t begun = 0;
  std::uint64_t completed = 0;
  std::string result;  // digest of its result
  bool each = false;   // every worker delivers a result of its own
  std::string failed;  // why it ends the task; "": it goes on
  // A worker's candidate for the run until the workers have met, then theirs (run_of()).
  std::string run;
};

// How a worker's part ends.
struct Ending {
  std::string why;     // it ends the task; "": it does not
  bool over = false;   // main has the result, or knows why there is none
  bool alone = false;  // the others did not come in time
};

// How a part of a meeting went for a member.
struct Answer {
  std::string refuse;      // why it takes no part; "": it does
  std::uint64_t held = 0;  // pieces that it has
  bool good = false;       // its data has the right digest
};

// The records of all ranks, in rank order. Throws TaskError, which names the rank of one that is
// none, and CommunicatorError.
std::vector<Hello> exchange(Communicator& comm, const Hello& own);
std::vector<Answer> exchange(Communicator& comm, const Answer& own);

// Main's rank in the task job. Throws TaskError, on every rank, unless there is one.
std::uint32_t find_main(std::span<const Hello> hellos);
// A candidate for a run: 12 random hexadecimal digits.
std::string new_run();
// The run in which the workers of these records go on: that of the first which has the task, or
// else of the first worker. So a restarted worker is in the others' run, and where all are
// restarted, the run is a new one.
std::string run_of(std::span<const Hello> hellos);
// Names the ranks that end the task, each followed by `job`, and why; "": all go on.
std::string failure_in(std::span<const Hello> hellos, const std::string& job = {});
// The workers that send a result: the first, or each where each has its own. Throws TaskError, on
// every rank, where workers differ that should not.
std::vector<std::uint32_t> senders_of(std::span<const Hello> hellos, std::uint32_t main);
// An identity or a digest, for texts.
inline std::string short_name(const std::string& digest) {
  return digest.substr(0, 12);
}
// "rank 3", "ranks 1 and 3", "ranks 1, 2 and 3".
std::string text_of(std::span<const std::uint32_t> ranks);

}  // namespace tributary::task
