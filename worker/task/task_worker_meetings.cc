// The meetings of a task's worker: with the other workers in the sum job, with main in the task job
// (worker/python/tributary/_task/worker.py and meeting.py).
#include <algorithm>
#include <stdexcept>

#include "worker/task/piece_cache.h"
#include "worker/task/sha256.h"
#include "worker/task/task_worker.h"
#include "worker/task/transfer.h"

namespace tributary {

using task::Again;
using task::Hello;
using task::Patience;

namespace {

std::vector<std::uint32_t> ranks_where(const std::vector<Hello>& hellos, auto condition) {
  std::vector<std::uint32_t> ranks;
  for (std::uint32_t rank = 0; rank < hellos.size(); ++rank)
    if (condition(hellos[rank])) ranks.push_back(rank);
  return ranks;
}

// One of the workers ends the task: main, or its successor, reads why in the records of all.
void tell_main(task::MemberJob& job, Duration limit, const Hello& own) {
  for (Patience patience(limit);;) {
    try {
      job.leave();
      task::exchange(job.join(patience.left()), own);
      job.part();
      return;
    } catch (const CommunicatorError&) {
      job.leave();
      try {
        patience.spend();
      } catch (const CommunicatorError&) {
        return;  // main does not come
      }
    }
  }
}

// Empty: the worker takes the task.
std::string why_refused(const task::Manifest& manifest, const std::string& identity,
                        const std::string& has, std::uint64_t memory_bytes) {
  if (!has.empty() && has != identity)
    return "this worker has task " + task::short_name(has) + ", and is offered " +
           task::short_name(identity);
  if (manifest.length > memory_bytes)
    return "the task has " + std::to_string(manifest.length) + " bytes, and a worker takes " +
           std::to_string(memory_bytes) + " into memory; allowed: a larger memory_bytes";
  return "";
}

}  // namespace

Hello TaskWorker::hello(const char* stage) const {
  Hello own;
  own.stage = stage;
  own.task = task_;
  own.completed = progress_ ? progress_->completed : 0;
  own.begun = begun() ? own.completed + 1 : 0;
  own.result = result_digest_;
  own.each = !task_.empty() && manifest_->keep == "worker";
  own.failed = ending_.why;
  own.run = run_;
  return own;
}

std::vector<Hello> TaskWorker::meet_workers(const char* stage, Patience& patience) {
  for (;;) {
    try {
      Communicator& comm = sum_job_.join(patience.left());
      auto hellos = task::exchange(comm, hello(stage));
      if (const auto mains = ranks_where(hellos, [](const Hello& h) { return h.role != "worker"; });
          !mains.empty())
        throw TaskError(task::text_of(mains) +
                        " of the sum job is main; its members are the workers alone");
      workers_ = static_cast<std::uint32_t>(hellos.size());
      ending_.alone = false;
      if (const std::string failure = task::failure_in(hellos, " of the sum job");
          !failure.empty()) {
        ending_.over = true;
        tell_main(task_job_, options_.patience, hello("rounds"));
        throw WorkerFailed(failure);
      }
      run_ = task::run_of(hellos);
      share_task(comm, hellos);
      share_round(comm, hellos);
      return hellos;
    } catch (...) {
      sum_job_.leave();
      patience.spend(ending_.alone);
    }
  }
}

void TaskWorker::share_task(Communicator& comm, const std::vector<Hello>& hellos) {
  const auto holders = ranks_where(hellos, [](const Hello& one) { return !one.task.empty(); });
  for (const std::uint32_t rank : holders)
    if (hellos[rank].task != hellos[holders.front()].task)
      throw TaskError("the workers have different tasks: rank " + std::to_string(holders.front()) +
                      " has " + task::short_name(hellos[holders.front()].task) + ", rank " +
                      std::to_string(rank) + " has " + task::short_name(hellos[rank].task));
  if (holders.empty() || holders.size() == hellos.size()) return;
  if (comm.rank() != holders.front()) return take_task(comm, holders.front(), true);
  task::send_small(comm, encoded_);
  const std::uint64_t first = task::agree(comm, "", task::kNeedsNone);
  task::run(comm, comm.rank(), manifest_->length, manifest_->piece_bytes, {data(), nullptr}, first);
}

// Empty: it is made. The others would wait for a worker that ends here.
std::string TaskWorker::make_inbox(const task::Manifest& manifest, const std::string& identity) {
  try {
    inbox_.emplace(manifest.length, manifest.digest, manifest.piece_bytes);
  } catch (const std::bad_alloc&) {
    return "no memory for the task's " + std::to_string(manifest.length) + " bytes";
  }
  arriving_ = identity;
  return "";
}

// `by_name`: in the sum job, whose switches may have the task in their caches.
void TaskWorker::take_task(Communicator& comm, std::uint32_t root, bool by_name) {
  const auto encoded = task::receive_small(comm, root, true, task::kMostManifest);
  const std::string identity = task::sha256_hex(encoded);
  task::Manifest manifest;
  std::string refuse;
  try {
    manifest = task::parse_manifest(encoded);
    refuse = why_refused(manifest, identity, task_, options_.memory_bytes);
  } catch (const std::invalid_argument& error) {
    refuse = error.what();
  }
  if (refuse.empty() && task_.empty() && arriving_ != identity)
    refuse = make_inbox(manifest, identity);
  const bool has_it = !task_.empty();
  if (by_name && manifest.cache && refuse.empty() && !has_it)
    task::get_pieces(comm, {options_.sums.job, identity, manifest}, *inbox_);
  const std::uint64_t held = has_it || !inbox_ ? task::kNeedsNone : inbox_->held();
  const std::uint64_t first = task::agree(comm, refuse, held);
  task::run(comm, root, manifest.length, manifest.piece_bytes,
            {std::nullopt, has_it ? nullptr : &*inbox_}, first);
  task_ = identity;
  encoded_ = encoded;
  manifest_ = std::move(manifest);
}

// A worker that has the last round gives it, with the state behind it, to those that lack it.
void TaskWorker::share_round(Communicator& comm, const std::vector<Hello>& hellos) {
  std::uint64_t top = 0;
  for (const Hello& one : hellos) top = std::max(top, one.completed);
  const auto lacks = [top](const Hello& one) { return one.completed < top; };
  if (ranks_where(hellos, lacks).empty()) return;
  const auto far = ranks_where(
      hellos, [&](const Hello& one) { return lacks(one) && one.begun != 0 && one.begun != top; });
  if (!far.empty())
    throw TaskError(task::text_of(far) + " began round " +
                    std::to_string(hellos[far.front()].begun) +
                    ", and another worker has completed round " + std::to_string(top) +
                    ": they are not of one run");
  const std::uint32_t root =
      ranks_where(hellos, [&](const Hello& one) { return !lacks(one); }).front();
  if (comm.rank() == root) return task::send_small(comm, encode_round());
  const bool wanted = lacks(hellos[comm.rank()]);
  const auto blob = task::receive_small(comm, root, wanted);
  if (wanted) adopt_round(blob);
}

std::vector<std::byte> TaskWorker::encode_round() const {
  // The state with which the round after the last one begins; after all of them the result, unless
  // each worker has its own: that of one is no other's.
  const TaskArray* state = nullptr;
  if (result_array_)
    state = manifest_->keep == "worker" ? nullptr : &*result_array_;
  else if (begun() && state_)
    state = &*state_;
  task::NamedArrays named;
  if (keeps_sums()) named.emplace_back("sum", &last_->sum);
  if (keeps_parts()) named.emplace_back("parts", &last_->parts);
  if (state != nullptr) named.emplace_back("state", state);
  std::string missing;
  for (const std::uint32_t rank : last_->missing)
    missing += (missing.empty() ? "" : ", ") + std::to_string(rank);
  return task::encode_arrays(
      "{\"arrays\": " + task::list_of(named) + ", \"missing\": [" + missing +
          "], \"norm\": " + (last_->norm ? task::python_float(*last_->norm) : "null") +
          ", \"progress\": " + progress_->to_json() + "}",
      named);
}

void TaskWorker::adopt_round(std::span<const std::byte> blob) {
  try {
    auto decoded = task::decode_arrays(blob);
    const auto progress =
        task::Progress::of_json(manifest_->criterion, decoded.head.at("progress"));
    const auto missing = decoded.head.at("missing").get<std::vector<std::uint32_t>>();
    std::optional<double> norm;
    if (!decoded.head.at("norm").is_null()) norm = decoded.head.at("norm").get<double>();
    TaskArray sum;
    if (keeps_sums()) sum = std::move(decoded.arrays.at("sum"));
    TaskArray parts;
    if (keeps_parts()) parts = std::move(decoded.arrays.at("parts"));
    progress_ = progress;
    state_.reset();
    if (const auto state = decoded.arrays.find("state"); state != decoded.arrays.end())
      state_ = std::move(state->second);
    interrupt();
    close_round(std::move(sum), std::move(parts), norm, missing);
  } catch (const std::out_of_range&) {
    throw TaskError("another worker's round is damaged: its sum, or its parts, are missing");
  } catch (const std::invalid_argument& error) {
    throw TaskError(std::string("another worker's round is damaged: ") + error.what());
  } catch (const nlohmann::json::exception& error) {
    throw TaskError(std::string("another worker's round is damaged: ") + error.what());
  }
}

// True if main gave the task, or took the result.
bool TaskWorker::meet_main(const char* stage, Patience& patience) {
  bool main_sees = true;  // the same error
  try {
    Communicator& comm = task_job_.join(std::min(task::kSlice, patience.left()));
    const auto hellos = task::exchange(comm, hello(stage));
    const std::uint32_t main = task::find_main(hellos);
    if (hellos.size() != workers_ + std::size_t{1}) {
      main_sees = false;  // it does not know the sum job
      throw TaskError("the task job has " + std::to_string(hellos.size()) +
                      " ranks, and the sum job has " + std::to_string(workers_) +
                      "; allowed: one more in the task job, main");
    }
    for (std::uint32_t rank = 0; rank < hellos.size(); ++rank)
      if (rank != main && hellos[rank].stage != stage)
        throw Again("the workers are at different stages");
    if (task_.empty()) {
      if (hellos[main].stage != "task")
        throw Again("main waits for a result, and the workers have no task");
      take_task(comm, main, false);
    } else {
      give_result(comm, main, hellos);
    }
    task_job_.part();
    return true;
  } catch (const TaskError&) {
    ending_.over = ending_.over || main_sees;
    task_job_.leave();
    throw;
  } catch (...) {
    task_job_.leave();
    patience.spend(ending_.alone);
  }
  return false;
}

void TaskWorker::give_result(Communicator& comm, std::uint32_t main,
                             const std::vector<Hello>& hellos) {
  if (!hellos[main].task.empty() && hellos[main].task != task_)
    throw Again("main has another task, " + task::short_name(hellos[main].task));
  for (const std::uint32_t sender : task::senders_of(hellos, main)) {
    if (comm.rank() == sender)
      task::send_small(comm, result_);
    else
      task::receive_small(comm, sender, false);
  }
  const auto answers = task::exchange(comm, task::Answer{"", 0, true});
  if (!answers[main].refuse.empty())
    throw TaskError("main could not keep the result: " + answers[main].refuse);
}

}  // namespace tributary
