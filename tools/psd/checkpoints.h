// Writes the models' snapshots to disk while the packet loop goes on.
//
//   loop: model's snapshot is ready ──▶ writer thread: CheckpointFile::write ──▶ loop lets go of it
//
// A snapshot belongs to the writer from when look() hands it over until it is written; the loop
// does not touch it meanwhile, and takes no other one of that model. look() and finish() are the
// loop's; counters are read by any thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "completion/host/server.h"
#include "tools/psd/checkpoint_file.h"
#include "tools/psd/checkpoint_lock.h"

namespace tributary::psd {

struct CheckpointCounters {
  Counter written;
  Counter failed;
  Counter step;       // gauge: of the last one written, or read at start
  Counter unix_time;  // gauge: when; 0: none yet
  Counter bytes;      // gauge: of a file
};

class Checkpoints {
 public:
  // Reads what is there into the models. Throws where that is nothing but bad, where no file can be
  // written, and where another server writes the same ones. `report` is called
  // by the caller's thread, and by the writer's.
  Checkpoints(completion::Server& server, CheckpointFile::Report report);
  ~Checkpoints();
  Checkpoints(const Checkpoints&) = delete;
  Checkpoints& operator=(const Checkpoints&) = delete;

  // Hands over what is ready, takes back what is written. Cheap when there is neither.
  void look();
  // Waits for the writer, then writes the models as they stand, where that is news.
  void finish();
  // After finish(): no model has a whole step that is not on disk.
  [[nodiscard]] bool all_kept() const { return all_kept_; }

  // Counters of the job at this place; nullptr: it keeps no checkpoints.
  [[nodiscard]] const CheckpointCounters* counters(std::size_t place) const {
    return entries_[place] ? &entries_[place]->counters : nullptr;
  }

 private:
  enum class State : std::uint8_t { idle, wanted, written };
  struct Entry {
    Entry(completion::Model& m, std::uint32_t job, const config::OptimizerConfig& optimizer)
        : lock(job, optimizer.checkpoint.directory), model(m), file(job, optimizer) {}
    const CheckpointLock lock;
    completion::Model& model;
    const CheckpointFile file;
    // The loop makes it wanted, the writer written, the loop idle.
    std::atomic<State> state{State::idle};
    CheckpointCounters counters;  // the writer's, and once it has ended finish()'s
  };

  void run();
  void write(Entry& entry);
  Entry* next_wanted();

  const CheckpointFile::Report report_;
  std::vector<std::unique_ptr<Entry>> entries_;  // by place of the job
  std::mutex mutex_;                             // of stopping_, and of the wait for work
  std::condition_variable work_;
  bool stopping_ = false;
  bool all_kept_ = true;
  std::thread writer_;
};

}  // namespace tributary::psd
