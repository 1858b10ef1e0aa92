#include "worker/task/task_main.h"
#include "worker/task/sha256.h"

#include <algorithm>
#include <stdexcept>

#include "worker/task/manifest.h"
#include "worker/task/transfer.h"

namespace tributary {

using task::Again;
using task::Hello;
using task::Patience;

namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// True if all workers are at this stage.
bool all_at(const char* stage, const std::vector<Hello>& hellos, std::uint32_t main) {
  for (std::uint32_t rank = 0; rank < hellos.size(); ++rank)
    if (rank != main && hellos[rank].stage != stage) return false;
  return true;
}

TaskResult read_result(const task::Blobs& blobs) {
  try {
    TaskResult result;
    nlohmann::json head;
    for (const auto& blob : blobs) {
      auto decoded = task::decode_arrays(blob);
      result.arrays.push_back(std::move(decoded.arrays.at("result")));
      if (head.is_null()) head = std::move(decoded.head);
    }
    result.array = result.arrays.at(0);
    result.rounds = head.at("rounds").get<std::uint32_t>();
    if (!head.at("norm").is_null()) result.norm = head.at("norm").get<double>();
    result.converged = head.at("converged").get<bool>();
    result.why = head.at("why").get<std::string>();
    return result;
  } catch (const std::logic_error& error) {
    throw TaskError(std::string("the result is damaged: ") + error.what());
  } catch (const nlohmann::json::exception& error) {
    throw TaskError(std::string("the result is damaged: ") + error.what());
  }
}

}  // namespace

TaskMain::TaskMain(CommunicatorOptions job, Duration patience, const std::string& state)
    : job_(std::move(job), patience),
      patience_(patience),
      store_(state),
      task_(store_.task()),
      run_(store_.run()) {
  if (const auto kept = store_.kept(); !kept.empty()) result_ = read_result(kept);
}

void TaskMain::distribute(std::span<const std::byte> data, const TaskStatement& statement) {
  if (statement.piece_bytes == 0 || statement.piece_bytes > 64u << 20)
    throw std::invalid_argument("piece_bytes is " + std::to_string(statement.piece_bytes) +
                                "; allowed are 1 to 64 MiB");
  task::Manifest manifest;
  manifest.length = data.size();
  manifest.digest = task::sha256_hex(data);
  manifest.piece_bytes = statement.piece_bytes;
  manifest.keep = statement.keep;
  manifest.publish = statement.publish;
  manifest.cache = statement.cache;
  manifest.criterion = statement.criterion;
  manifest.metadata = statement.metadata;
  const std::string encoded = task::write_manifest(manifest);
  const std::string identity = task::sha256_hex(bytes_of(encoded));
  const bool known = store_.expect(identity);
  task_ = identity;
  if (known) return;
  until_done(Patience(patience_), "task", [&](Communicator& comm, const auto& hellos) {
    give(comm, hellos, encoded, data, statement.piece_bytes);
  });
  store_.distributed(task_, run_);
}

TaskResult TaskMain::result(std::optional<Duration> timeout) {
  if (!result_)
    until_done(Patience(timeout), "result",
               [&](Communicator& comm, const auto& hellos) { take(comm, hellos); });
  return *result_;
}

// Meets the workers until a step succeeds.
void TaskMain::until_done(Patience patience, const char* stage, const Step& step) {
  Hello own;
  own.role = "main";
  own.stage = stage;
  own.task = task_;
  for (bool done = false; !done;) {
    try {
      Communicator& comm = job_.join(patience.left());
      const auto hellos = task::exchange(comm, own);
      task::find_main(hellos);
      run_ = task::run_of(hellos);
      const std::string failure = task::failure_in(hellos);
      if (failure.empty()) step(comm, hellos);
      job_.part();
      if (!failure.empty()) throw WorkerFailed(failure);
      done = true;
    } catch (...) {
      job_.leave();
      patience.spend();
    }
  }
}

void TaskMain::give(Communicator& comm, const std::vector<Hello>& hellos,
                    const std::string& manifest, std::span<const std::byte> data,
                    std::uint32_t piece_bytes) {
  const std::uint32_t main = comm.rank();
  if (all_at("result", hellos, main)) return take(comm, hellos);  // an earlier main has given it
  if (!all_at("task", hellos, main))
    throw Again("workers give a result while others want the task");
  task::send_small(comm, bytes_of(manifest));
  const std::uint64_t first = task::agree(comm, "", task::kNeedsNone);
  task::run(comm, main, data.size(), piece_bytes, {data, nullptr}, first);
}

void TaskMain::take(Communicator& comm, const std::vector<Hello>& hellos) {
  const std::uint32_t main = comm.rank();
  if (all_at("task", hellos, main))
    throw TaskError("the workers have no task yet: distribute() comes before result()");
  if (!all_at("result", hellos, main))
    throw Again("workers give a result while others want the task");
  const std::uint32_t first = main == 0 ? 1 : 0;
  for (std::uint32_t rank = 0; rank < hellos.size(); ++rank) {
    if (rank == main) continue;
    const Hello& worker = hellos[rank];
    if (worker.task != hellos[first].task || (!task_.empty() && worker.task != task_))
      throw TaskError("rank " + std::to_string(rank) + " delivers the result of task " +
                      task::short_name(worker.task) + ", and this main waits for " +
                      task::short_name(task_));
  }
  task::Blobs blobs;
  for (const std::uint32_t sender : task::senders_of(hellos, main))
    blobs.push_back(task::receive_small(comm, sender));
  std::string refuse;
  try {
    TaskResult found = read_result(blobs);
    store_.keep(hellos[first].task, blobs);
    result_ = std::move(found);
  } catch (const TaskError& error) {
    refuse = error.what();
  }
  task::exchange(comm, task::Answer{refuse, 0, refuse.empty()});
  if (!refuse.empty()) throw TaskError(refuse);
}

}  // namespace tributary
