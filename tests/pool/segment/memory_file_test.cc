// The file behind a node's memory: it stays, it is locked, and its limits are said (L1).
#include "pool/segment/memory_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

namespace tributary::pool {
namespace {

class PoolMemoryFile : public testing::Test {
 protected:
  PoolMemoryFile() { std::filesystem::remove(path_); }
  ~PoolMemoryFile() override { std::filesystem::remove(path_); }
  const std::string path_ = "/dev/shm/tributary-pool-test-" + std::to_string(getpid());
};

TEST_F(PoolMemoryFile, L1OutlivesItsProcess) {
  {
    const MemoryFile file({path_, 1 << 20, std::nullopt});
    EXPECT_FALSE(file.found());
    file.bytes()[12345] = std::byte{7};
  }
  const MemoryFile again({path_, 1 << 20, std::nullopt});
  EXPECT_TRUE(again.found());
  EXPECT_EQ(again.bytes()[12345], std::byte{7});
}

TEST_F(PoolMemoryFile, AnotherSizeIsAnotherFile) {
  { const MemoryFile file({path_, 1 << 20, std::nullopt}); }
  const MemoryFile larger({path_, 2 << 20, std::nullopt});
  EXPECT_FALSE(larger.found());
  EXPECT_EQ(larger.bytes().size(), 2u << 20);
}

TEST_F(PoolMemoryFile, TwoProcessesDoNotServeOneFile) {
  const MemoryFile file({path_, 1 << 20, std::nullopt});
  try {
    const MemoryFile other({path_, 1 << 20, std::nullopt});
    FAIL() << "the file was opened twice";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("another process serves this memory"));
  }
}

TEST_F(PoolMemoryFile, MoreThanThereIsIsRefusedByName) {
  try {
    const MemoryFile file({path_, std::uint64_t{1} << 45, std::nullopt});
    FAIL() << "32 TiB of memory";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr(path_));
  }
}

TEST_F(PoolMemoryFile, NumaNodeThatIsNotThereIsRefused) {
  EXPECT_THROW(MemoryFile({path_, 1 << 20, 1000u}), std::runtime_error);
}

TEST(PoolMemlock, SaysWhatToSet) {
  const auto problem = memlock_problem(64 << 20, 8 << 20, false);
  ASSERT_TRUE(problem);
  EXPECT_THAT(*problem, testing::HasSubstr("8192 KiB"));
  EXPECT_THAT(*problem, testing::HasSubstr("ulimit -l 65536"));
  EXPECT_THAT(*problem, testing::HasSubstr("LimitMEMLOCK"));
  EXPECT_EQ(memlock_problem(64 << 20, 64 << 20, false), std::nullopt);
  EXPECT_EQ(memlock_problem(64 << 20, 0, true), std::nullopt);
}

}  // namespace
}  // namespace tributary::pool
