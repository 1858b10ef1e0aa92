// A job's place for checkpoints, claimed at start: the directory takes files, and no other server
// writes the same ones. Two would take turns in losing each other's steps.
//
// The lock is a file beside the checkpoints, held by flock(2): it goes with the process however
// that ends. The file itself stays.
#pragma once

#include <cstdint>
#include <string>

#include "worker/transport/file_descriptor.h"

namespace tributary::psd {

// Why no checkpoint can be written in this directory now; empty: one can. Changes nothing.
std::string why_unusable(const std::string& directory);

class CheckpointLock {
 public:
  // Throws std::runtime_error that names the directory, the cause and what to do.
  CheckpointLock(std::uint32_t job, const std::string& directory);

 private:
  worker::FileDescriptor file_;
};

}  // namespace tributary::psd
