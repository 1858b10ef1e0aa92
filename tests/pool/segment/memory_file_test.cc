// The file behind a node's memory: it stays, it is locked, and its limits are said (L1).
#include "pool/segment/memory_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
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

// A shortened file would kill readers that mapped it.
TEST_F(PoolMemoryFile, L2FilesThatReadersMappedAreNeverShortened) {
  void* mapped = nullptr;
  {
    const MemoryFile file({path_, 1 << 20, std::nullopt});
    file.bytes()[1 << 19] = std::byte{7};
    // A description of its own: a mapping of the node's would keep its lock.
    const int reader = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    mapped = mmap(nullptr, 1 << 20, PROT_READ, MAP_SHARED, reader, 0);
    close(reader);
    ASSERT_NE(mapped, MAP_FAILED);
  }
  const MemoryFile smaller({path_, 4096, std::nullopt});
  EXPECT_EQ(smaller.bytes()[0], std::byte{0});
  EXPECT_EQ(static_cast<const std::byte*>(mapped)[1 << 19], std::byte{7});
  munmap(mapped, 1 << 20);
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
