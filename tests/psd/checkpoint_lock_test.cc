// Checks of its checkpoints' directory that a server makes before it trains anything.
#include "tools/psd/checkpoint_lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <stdexcept>

#include "tests/testbed/scratch.h"

namespace tributary::psd {
namespace {

using testing::HasSubstr;

std::string failure(std::uint32_t job, const std::string& directory) {
  try {
    const CheckpointLock lock(job, directory);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "none";
}

TEST(CheckpointLock, TwoServersNeverKeepOneJob) {
  const testbed::Scratch scratch;
  const std::string folder = scratch.path();
  {
    const CheckpointLock first(7, folder);
    EXPECT_EQ(failure(8, folder), "none") << "another job may be beside it";
    EXPECT_EQ(failure(7, folder), "checkpoint.directory " + folder +
                                      ": another server keeps the checkpoints of job 7 there; end "
                                      "it, or give this one another directory");
  }
  EXPECT_EQ(failure(7, folder), "none") << "the lock went with its server";
}

TEST(CheckpointLock, ADirectoryThatTakesNoFilesIsNamed) {
  const testbed::Scratch scratch;
  const std::string missing = scratch.file("none");
  const std::string wanted = "checkpoint.directory " + missing +
                             ": No such file or directory; make it, owned by the user that "
                             "tributary-psd runs as";
  EXPECT_EQ(failure(7, missing), wanted);
  EXPECT_EQ(why_unusable(missing), wanted);
  std::ofstream(scratch.file("file")) << "x";
  EXPECT_THAT(why_unusable(scratch.file("file")), HasSubstr("Not a directory"));
  EXPECT_THAT(failure(7, scratch.file("file")), HasSubstr("Not a directory"));
  EXPECT_EQ(why_unusable(scratch.path()), "");
  // Root may write anywhere but here.
  EXPECT_THAT(why_unusable("/proc/self"), HasSubstr("/proc/self: "));
  EXPECT_THAT(failure(7, "/proc/self"), HasSubstr("checkpoint.directory /proc/self: "));
}

}  // namespace
}  // namespace tributary::psd
