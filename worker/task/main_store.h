// Main's memory between two processes: a folder with the task's identity, and its result
// (worker/python/tributary/_task/store.py; the same files).
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace tributary::task {

using Blobs = std::vector<std::vector<std::byte>>;

class MainStore {
 public:
  // `folder`: made if it is missing; "": nothing outlives the process. Throws TaskError for a file
  // that is damaged, std::filesystem::filesystem_error.
  explicit MainStore(std::filesystem::path folder);

  // The task that has reached all workers; "": none has.
  [[nodiscard]] const std::string& task() const { return task_; }
  // The run in which they got it.
  [[nodiscard]] const std::string& run() const { return run_; }
  // True if that task has been distributed. Throws TaskError if the folder is another one's.
  [[nodiscard]] bool expect(const std::string& task) const;
  // All workers have it. Both writers throw TaskError where the folder cannot be written.
  void distributed(const std::string& task, const std::string& run);
  void keep(const std::string& task, const Blobs& blobs);
  // The kept result; empty: there is none.
  [[nodiscard]] Blobs kept() const;

 private:
  void write(const char* name, std::span<const std::byte> data) const;
  void write(const char* name, const std::string& text) const;

  std::filesystem::path folder_;
  std::string task_;
  std::string run_;
};

}  // namespace tributary::task
