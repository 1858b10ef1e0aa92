// The main server of a task (docs/tasks.md), as tributary.Task("main") in Python: gives data to all
// workers, and takes the final result. Its workers may be in either language.
//
//   TaskMain main({.job = 1, .rank = 0, .size = 5, .address = "udp://10.77.0.250"});
//   main.distribute(samples, {.criterion = {.most_rounds = 1000, .norm_below = 1e-4}});
//   const TaskResult result = main.result();
//
// It is in the task job only while it gives or takes. Not thread-safe.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "worker/api/communicator.h"
#include "worker/task/criterion.h"
#include "worker/task/main_store.h"
#include "worker/task/member_job.h"
#include "worker/task/records.h"
#include "worker/task/task_array.h"
#include "worker/task/task_error.h"

namespace tributary {

struct TaskStatement {
  task::Criterion criterion;            // when the rounds end; most_rounds 0: a task without rounds
  std::string metadata = "null";        // JSON
  std::uint32_t piece_bytes = 1 << 20;  // of a broadcast, 1 to 64 MiB
  // "sum": each round's arrays are summed; "worker": they are kept by worker; "both".
  std::string keep = "sum";
  // A tensor's name: rank 0 of the sum job puts each round's sum, and the state with which a round
  // begins, by name (docs/tasks.md). "": sums get no name.
  std::string publish = {};
  bool cache = false;  // rank 0 of the sum job puts the data into the switches' caches
};

struct TaskResult {
  TaskArray array;  // where each worker delivers its own: that of the lowest rank
  // All workers' in the order of their ranks; one where they deliver the same.
  std::vector<TaskArray> arrays;
  std::uint32_t rounds = 0;
  std::optional<double> norm;  // of the last sum
  // False: the rounds were over before the criterion held.
  bool converged = false;
  std::string why;  // "norm", "relative-change" or "rounds"
};

class TaskMain {
 public:
  // `patience`: time in which members come back after a failure. `state`: a folder in which main
  // keeps which task it gave, and the result, for a successor on the same machine; one folder a
  // task; "": nothing outlives the process. Throws TaskError for a folder that is damaged.
  explicit TaskMain(CommunicatorOptions job, Duration patience = Duration::seconds(600),
                    const std::string& state = {});

  // Returns when each worker has data and metadata, with the right digest; after a failure it goes
  // on with the first piece that some worker lacks. Throws std::invalid_argument for a bad
  // statement, TaskError where a worker refuses, CommunicatorError. A successor of main distributes
  // the same data again; it returns at once where the `state` folder says that the workers have
  // them, or they have a result of it.
  void distribute(std::span<const std::byte> data, const TaskStatement& statement);
  // Waits for the workers' result, and acknowledges it, once it is in the `state` folder. None: as
  // long as the rounds take. Throws WorkerFailed where a worker says that it ends, or leaves.
  // Workers that are killed, or hang, for good say nothing: then the timeout alone ends the wait.
  TaskResult result(std::optional<Duration> timeout = std::nullopt);
  // The run's identity, which the names of its rounds have: the same on all members. "" before the
  // workers have the task; on a main without a folder that follows another one, before their
  // result.
  [[nodiscard]] const std::string& run() const { return run_; }

 private:
  using Step = std::function<void(Communicator&, const std::vector<task::Hello>&)>;
  void until_done(task::Patience patience, const char* stage, const Step& step);
  void give(Communicator& comm, const std::vector<task::Hello>& hellos, const std::string& manifest,
            std::span<const std::byte> data, std::uint32_t piece_bytes);
  void take(Communicator& comm, const std::vector<task::Hello>& hellos);

  task::MemberJob job_;
  Duration patience_;
  task::MainStore store_;
  std::string task_;  // identity; "": not known
  std::string run_;
  std::optional<TaskResult> result_;
};

}  // namespace tributary
