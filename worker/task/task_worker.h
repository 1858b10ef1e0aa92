// A worker of a task (docs/tasks.md), as tributary.Task("worker") in Python: gets the data from a
// main server, runs rounds with the other workers, delivers the result. Main and the workers of one
// task may be in either language.
//
//   TaskWorker worker({.job = {.job = 1, .rank = 1, .size = 5, .address = "udp://10.77.0.201"},
//                      .sums = {.job = 2, .rank = 0, .size = 4, .address = "udp://10.77.0.201"}});
//   worker.receive();
//   while (!worker.final()) {
//     worker.submit(gradient(worker.data(), weights), weights);
//     const TaskRound& round = worker.next_round();
//     ...
//   }
//   worker.deliver(weights);
//
// Whenever an epoch of the sum job ends, all workers come to its next one and tell what they have;
// a holder of the task, or of the last round, gives it to those that lack it. Not thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "worker/api/communicator.h"
#include "worker/task/manifest.h"
#include "worker/task/member_job.h"
#include "worker/task/records.h"
#include "worker/task/sink.h"
#include "worker/task/task_array.h"
#include "worker/task/task_error.h"

namespace tributary {

struct TaskWorkerOptions {
  CommunicatorOptions job;   // the task job: main and all workers
  CommunicatorOptions sums;  // the sum job: the workers alone
  // Time in which members come back after a failure, and the longest that a round may take.
  Duration patience = Duration::seconds(600);
  std::uint64_t memory_bytes = std::uint64_t{1} << 30;  // of the largest task that it takes
};

// The outcome of one round, the same on every worker, to the last bit.
struct TaskRound {
  std::uint32_t number = 0;    // from 1
  TaskArray sum;               // of type none where the task keeps arrays by worker
  TaskArray parts;             // of shape (workers, ...), by rank; of type none where it keeps sums
  std::optional<double> norm;  // of the sum, where the task asks for one
  std::vector<std::uint32_t> missing;  // ranks that a degraded sum lacks
  bool final = false;                  // no round follows
  bool converged = false;
  std::string why;  // "norm", "relative-change" or "rounds" if final
};

class TaskWorker {
 public:
  // `patience` is also how long an op may take in both jobs.
  explicit TaskWorker(TaskWorkerOptions options);
  // Leaves both jobs at once.
  ~TaskWorker();
  TaskWorker(const TaskWorker&) = delete;
  TaskWorker& operator=(const TaskWorker&) = delete;

  // Waits for the task, from main or, in a worker that was restarted, from another worker. None:
  // until main comes. Throws TaskError for a task that is too large; CommunicatorError.
  void receive(std::optional<Duration> timeout = std::nullopt);
  // Both throw TaskError before that.
  [[nodiscard]] std::span<const std::byte> data() const;
  // Main's, as JSON.
  [[nodiscard]] const std::string& metadata() const;

  // Begins the next round. The array has the same shape and type on all workers; `state` is what a
  // restarted worker needs to begin this round, the same on every worker.
  void submit(TaskArray array, std::optional<TaskArray> state = std::nullopt);
  // Waits for it. If a worker, or a switch, fails meanwhile, the round is done again.
  const TaskRound& next_round();
  // Gives main the result, the same on every worker unless the task keeps arrays by worker; returns
  // when main has acknowledged it.
  void deliver(const TaskArray& array);
  // Leaves both jobs, when the other workers are about to. Before main has the result it is
  // fail().
  void close();
  // Tells the other workers and main why this worker ends the task, and leaves both jobs: they
  // throw WorkerFailed with its rank and words. Waits for the workers up to `patience`, and with
  // them as long for main; not after a CommunicatorError by which it has given the others up.
  void fail(const std::string& why);

  [[nodiscard]] const std::optional<TaskRound>& last() const { return last_; }
  // For a restarted worker, that of the round which begins; else what it gave.
  [[nodiscard]] const std::optional<TaskArray>& state() const { return state_; }
  [[nodiscard]] bool final() const { return progress_ && progress_->final(); }
  // The run's identity, which the names of its rounds have: the same on all members, also on those
  // that are restarted. "" before receive().
  [[nodiscard]] std::string run() const { return task_.empty() ? "" : run_; }
  // Why the switches did not take what this worker put by name, the last time; "": they took all.
  [[nodiscard]] const std::string& put_refusal() const { return put_refusal_; }

 private:
  void need_task() const;
  [[nodiscard]] bool begun() const { return array_.has_value(); }
  [[nodiscard]] bool keeps_sums() const { return manifest_->keep != "worker"; }
  [[nodiscard]] bool keeps_parts() const { return manifest_->keep != "sum"; }
  void put_task();
  void put(const char* suffix, std::uint32_t round, const TaskArray& array);
  void start(Communicator& comm);
  void finish();
  void interrupt();
  void close_round(TaskArray total, TaskArray parts, std::optional<double> norm,
                   std::vector<std::uint32_t> missing);
  // task_worker_meetings.cc
  std::vector<task::Hello> meet_workers(const char* stage, task::Patience& patience);
  bool meet_main(const char* stage, task::Patience& patience);
  [[nodiscard]] task::Hello hello(const char* stage) const;
  void share_task(Communicator& comm, const std::vector<task::Hello>& hellos);
  void share_round(Communicator& comm, const std::vector<task::Hello>& hellos);
  void take_task(Communicator& comm, std::uint32_t root, bool by_name);
  std::string make_inbox(const task::Manifest& manifest, const std::string& identity);
  void give_result(Communicator& comm, std::uint32_t main, const std::vector<task::Hello>& hellos);
  [[nodiscard]] std::vector<std::byte> encode_round() const;
  void adopt_round(std::span<const std::byte> blob);

  TaskWorkerOptions options_;
  task::MemberJob task_job_;
  task::MemberJob sum_job_;
  std::uint32_t workers_ = 0;
  // The task, as far as it is here; `task_` is its identity once it is whole.
  std::string arriving_;
  std::optional<task::Sink> inbox_;
  std::vector<std::byte> encoded_;
  std::optional<task::Manifest> manifest_;
  std::string task_;
  std::string run_ = task::new_run();  // see task::run_of()
  // The round.
  std::optional<task::Progress> progress_;
  std::optional<TaskArray> array_;
  std::optional<TaskArray> state_;
  TaskArray total_;
  TaskArray parts_;
  std::optional<Request> sum_;
  std::optional<Request> gather_;
  std::optional<TaskRound> last_;
  // The result.
  std::optional<TaskArray> result_array_;
  std::vector<std::byte> result_;
  std::string result_digest_;  // "": there is none
  std::string put_refusal_;
  task::Ending ending_;
};

}  // namespace tributary
