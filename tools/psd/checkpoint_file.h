// A job's checkpoints in a folder: the last one, and the one before it.
//
//   write: new file ─▶ fsync ─▶ the last one also gets the other name ─▶ rename ─▶ fsync of the
//   folder
//
// At every instant both names stand for whole files, or for none; a crash loses at most the file
// that was being written. A last one that turns out to be bad is put aside, and the one before it
// takes its name: the next write would otherwise keep the bad one as the previous.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "completion/model/checkpoint.h"

namespace tributary::psd {

class CheckpointFile {
 public:
  using Report = std::function<void(const std::string&)>;

  CheckpointFile(std::uint32_t job, const config::OptimizerConfig& optimizer);

  // Throws std::system_error that names the file; what was there is unharmed.
  void write(std::uint64_t step, std::span<const std::byte> values) const;
  // Calls `restore` with the newer of the two that is good; nothing when neither exists. A bad one
  // is reported, and put aside if there is a good one. Throws std::runtime_error when there are
  // only bad ones, and std::system_error that names the file.
  void load(const std::function<void(const completion::Checkpoint&)>& restore,
            const Report& report) const;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  // The previous one becomes the last.
  void promote_previous(const Report& report) const;

  std::uint32_t job_;
  config::OptimizerConfig optimizer_;
  std::string path_;
  std::string previous_;
};

}  // namespace tributary::psd
