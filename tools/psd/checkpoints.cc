#include "tools/psd/checkpoints.h"

#include <algorithm>
#include <ctime>
#include <limits>

namespace tributary::psd {

Checkpoints::Checkpoints(completion::Server& server, CheckpointFile::Report report)
    : report_(std::move(report)), entries_(server.job_count()) {
  bool any = false;
  for (std::size_t place = 0; place < server.job_count(); ++place) {
    const completion::ServedJob& job = server.job(place);
    completion::Model* const model = server.model(place);
    if (model == nullptr || job.optimizer.checkpoint.directory.empty()) continue;
    entries_[place] = std::make_unique<Entry>(*model, job.limits.id, job.optimizer);
    Entry& entry = *entries_[place];
    entry.counters.bytes.set(completion::checkpoint_bytes(job.optimizer));
    entry.file.load(
        [&](const completion::Checkpoint& read) {
          model->restore(read.step, read.values);
          entry.counters.step.set(read.step);
        },
        report_);
    any = true;
  }
  if (any) writer_ = std::thread([this] { run(); });
}

Checkpoints::~Checkpoints() {
  finish();
}

void Checkpoints::look() {
  for (const auto& entry : entries_) {
    if (!entry) continue;
    if (entry->state.load(std::memory_order_acquire) == State::written) {
      entry->model.let_go_of_snapshot();
      entry->state.store(State::idle, std::memory_order_relaxed);
    }
    if (!entry->model.snapshot_ready() ||
        entry->state.load(std::memory_order_relaxed) != State::idle)
      continue;
    entry->state.store(State::wanted, std::memory_order_release);
    // Taken so that the writer is not between its look and its wait.
    { const std::lock_guard lock(mutex_); }
    work_.notify_one();
  }
}

Checkpoints::Entry* Checkpoints::next_wanted() {
  for (const auto& entry : entries_)
    if (entry && entry->state.load(std::memory_order_acquire) == State::wanted) return entry.get();
  return nullptr;
}

void Checkpoints::run() {
  for (;;) {
    Entry* entry = nullptr;
    {
      std::unique_lock lock(mutex_);
      work_.wait(lock, [&] { return stopping_ || next_wanted() != nullptr; });
      entry = next_wanted();
      if (entry == nullptr) return;
    }
    write(*entry);
    entry->state.store(State::written, std::memory_order_release);
  }
}

void Checkpoints::write(Entry& entry) {
  const std::uint64_t step = entry.model.snapshot_step();
  try {
    entry.file.write(step, entry.model.snapshot());
  } catch (const std::exception& error) {
    entry.counters.failed.add();
    return report_("checkpoint of step " + std::to_string(step) + ": " + error.what());
  }
  entry.counters.written.add();
  entry.counters.step.set(step);
  entry.counters.unix_time.set(static_cast<std::uint64_t>(std::time(nullptr)));
}

void Checkpoints::finish() {
  if (!writer_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_.notify_one();
  writer_.join();
  for (const auto& entry : entries_) {
    if (!entry) continue;
    completion::Model& model = entry->model;
    model.let_go_of_snapshot();
    const auto step = model.step();
    const bool known = entry->counters.unix_time.get() != 0 || entry->counters.step.get() != 0;
    if (!step || (known && *step == entry->counters.step.get())) continue;
    model.begin_snapshot();
    model.copy_some(std::numeric_limits<std::size_t>::max());
    write(*entry);
    model.let_go_of_snapshot();
    all_kept_ = all_kept_ && entry->counters.step.get() == *step;
  }
}

}  // namespace tributary::psd
