#include "worker/task/task_worker.h"

#include <stdexcept>
#include <utility>

#include "worker/task/npy.h"
#include "worker/task/piece_cache.h"
#include "worker/task/sha256.h"

namespace tributary {

using task::Patience;

TaskWorker::TaskWorker(TaskWorkerOptions options)
    : options_(std::move(options)),
      task_job_(options_.job, options_.patience),
      sum_job_(options_.sums, options_.patience) {
  if (options_.job.size != 0 && options_.sums.size != 0 &&
      options_.job.size != options_.sums.size + 1)
    throw std::invalid_argument(
        "the task job has " + std::to_string(options_.job.size) + " ranks, and the sum job has " +
        std::to_string(options_.sums.size) + "; allowed: one more in the task job, main");
}

// Ops end with their communicator, and only then may their memory go.
TaskWorker::~TaskWorker() {
  sum_job_.leave();
  task_job_.leave();
}

void TaskWorker::receive(std::optional<Duration> timeout) {
  Patience patience(timeout);
  while (task_.empty()) {
    meet_workers("task", patience);
    if (task_.empty()) meet_main("task", patience);
  }
  if (!progress_) progress_.emplace(manifest_->criterion);
  put_task();
}

// By rank 0 of the sum job: for workers that are restarted.
void TaskWorker::put_task() {
  if (!manifest_->cache) return;
  try {
    Communicator& comm = sum_job_.join(task::kSlice);
    if (comm.rank() == 0)
      put_refusal_ = task::put_pieces(comm, {options_.sums.job, task_, *manifest_}, data());
  } catch (const CommunicatorError& error) {
    put_refusal_ = error.what();
  }
}

// By rank 0 of the sum job, as all have the same bits. A refusal never ends the task.
void TaskWorker::put(const char* suffix, std::uint32_t round, const TaskArray& array) {
  if (manifest_->publish.empty()) return;
  try {
    Communicator& comm = sum_job_.join(task::kSlice);
    if (comm.rank() != 0) return;
    comm.put("/job/" + std::to_string(options_.sums.job) + "/run=" + run_ + "/" +
                 manifest_->publish + suffix + "/v=" + std::to_string(round),
             task::to_npy(array));
  } catch (const CommunicatorError& error) {
    put_refusal_ = error.what();
    // It has the array of the same round before that was done again: readers must not get some of
    // either.
    if (error.reason() == wire::Reason::name_taken) manifest_->publish.clear();
  }
}

void TaskWorker::need_task() const {
  if (!progress_) throw TaskError("this worker has no task: receive() comes first");
}

std::span<const std::byte> TaskWorker::data() const {
  need_task();
  return inbox_->value();
}

const std::string& TaskWorker::metadata() const {
  need_task();
  return manifest_->metadata;
}

void TaskWorker::submit(TaskArray array, std::optional<TaskArray> state) {
  need_task();
  if (progress_->final())
    throw TaskError("the task is final since round " + std::to_string(progress_->completed) + " (" +
                    progress_->why + "): deliver() is next");
  if (begun())
    throw TaskError("round " + std::to_string(progress_->completed + 1) +
                    " has not ended: next_round() is next");
  task::check_array(array, "array");
  if (state) task::check_array(*state, "state");
  array_ = std::move(array);
  state_ = std::move(state);
  try {
    // An epoch that has ended is met again in next_round().
    start(sum_job_.join(task::kSlice));
  } catch (const CommunicatorError&) {
    interrupt();
  } catch (...) {
    // One op may have begun before the other was refused: it ends with its communicator.
    sum_job_.leave();
    interrupt();
    array_.reset();
    throw;
  }
  if (state_) put(".state", progress_->completed + 1, *state_);
}

void TaskWorker::start(Communicator& comm) {
  if (keeps_parts()) {
    parts_ = {array_->dtype, array_->shape, {}};
    parts_.shape.insert(parts_.shape.begin(), comm.size());
    parts_.bytes.resize(array_->bytes.size() * comm.size());
    gather_ = comm.all_gather(array_->bytes.data(), parts_.bytes.data(), array_->elements(),
                              array_->dtype);
  }
  if (keeps_sums()) {
    total_ = *array_;
    sum_ =
        comm.allreduce(total_.bytes.data(), total_.elements(), total_.dtype, wire::ReduceOp::sum);
  }
}

// Once the ops have failed, none uses their memory.
void TaskWorker::interrupt() {
  for (std::optional<Request>* op : {&gather_, &sum_}) {
    if (*op) {
      try {
        (*op)->wait();
      } catch (const CommunicatorError&) {
      }
    }
    op->reset();
  }
}

const TaskRound& TaskWorker::next_round() {
  need_task();
  if (!begun()) throw TaskError("no array has been submitted: submit() comes before next_round()");
  Patience patience(options_.patience);
  const std::uint32_t before = progress_->completed;
  while (progress_->completed == before) {
    try {
      Communicator& comm = sum_job_.join(patience.left());
      if (!sum_ && !gather_) start(comm);
      finish();
    } catch (const CommunicatorError& error) {
      const bool retried = dynamic_cast<const TaskError*>(&error) == nullptr &&
                           error.reason() != wire::Reason::overflow;
      if (!retried) {
        interrupt();
        array_.reset();
        throw;
      }
      sum_job_.leave();
      interrupt();
      patience.spend(ending_.alone);
      meet_workers("rounds", patience);
    }
  }
  if (keeps_sums()) put("", last_->number, last_->sum);
  return *last_;
}

// Throws TaskError, on every worker, for a norm that is not finite.
void TaskWorker::finish() {
  if (gather_) gather_->wait();
  std::vector<std::uint32_t> missing;
  if (sum_) {
    sum_->wait();
    missing = sum_->outcome().missing;
  }
  const auto norm = progress_->add(sum_ ? &total_ : nullptr, !missing.empty());
  sum_.reset();
  gather_.reset();
  close_round(std::exchange(total_, {}), std::exchange(parts_, {}), norm, std::move(missing));
}

void TaskWorker::close_round(TaskArray total, TaskArray parts, std::optional<double> norm,
                             std::vector<std::uint32_t> missing) {
  array_.reset();
  last_ =
      TaskRound{progress_->completed, std::move(total),   std::move(parts),       norm,
                std::move(missing),   progress_->final(), progress_->converged(), progress_->why};
}

void TaskWorker::deliver(const TaskArray& array) {
  need_task();
  if (!progress_->final())
    throw TaskError("round " + std::to_string(progress_->completed) +
                    " was not final; deliver() comes after the one that is");
  task::check_array(array, "array");
  const std::string norm = last_ && last_->norm ? task::python_float(*last_->norm) : "null";
  const task::NamedArrays named = {{"result", &array}};
  result_ = task::encode_arrays(
      "{\"arrays\": " + task::list_of(named) +
          ", \"converged\": " + (progress_->converged() ? "true" : "false") +
          ", \"norm\": " + norm + ", \"rounds\": " + std::to_string(progress_->completed) +
          ", \"why\": \"" + progress_->why + "\"}",
      named);
  result_digest_ = task::sha256_hex(result_);
  result_array_ = array;
  Patience patience(options_.patience);
  for (bool taken = false; !taken;) {
    const auto hellos = meet_workers("result", patience);
    bool all = true;  // a worker that was restarted, or lost the last round, comes later
    for (const auto& one : hellos) all = all && one.stage == "result";
    taken = all && meet_main("result", patience);
  }
  ending_.over = true;
}

void TaskWorker::close() {
  if (!task_.empty() && !ending_.over) return fail("it left before main had the result");
  sum_job_.part();
  task_job_.leave();
}

void TaskWorker::fail(const std::string& why) {
  sum_job_.leave();  // ends the others' ops, so that they come to the meeting
  interrupt();
  if (!ending_.over && !ending_.alone) {
    ending_.why = why.empty() ? "without a word" : why;
    try {
      Patience patience(options_.patience);
      meet_workers("rounds", patience);
    } catch (const CommunicatorError&) {
      // A WorkerFailed that names this one: they know. Or they are not there.
    }
  }
  sum_job_.leave();
  task_job_.leave();
}

}  // namespace tributary
