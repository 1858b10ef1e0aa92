// The file behind a node's memory: it stays, it is locked, and its limits are said (L1).
#include "pool/segment/memory_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
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

// Another user could write the records of the node, or take its place.
TEST_F(PoolMemoryFile, L1OnlyAFileOfThisUserAloneIsTakenOver) {
  const auto refusal = [this] {
    try {
      const MemoryFile file({path_, 1 << 20, std::nullopt});
    } catch (const std::runtime_error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  { const MemoryFile file({path_, 1 << 20, std::nullopt}); }
  for (const mode_t mode : {0644, 0660, 0700, 0604}) {
    ASSERT_EQ(chmod(path_.c_str(), mode), 0);
    EXPECT_THAT(refusal(), testing::HasSubstr("allowed: 0600")) << std::oct << mode;
  }
  ASSERT_EQ(chmod(path_.c_str(), 0600), 0);
  const std::string other = path_ + "-other";
  ASSERT_EQ(link(path_.c_str(), other.c_str()), 0);
  EXPECT_THAT(refusal(), testing::HasSubstr(path_ + ": has 2 names; allowed: one"));
  ASSERT_EQ(unlink(other.c_str()), 0);
  EXPECT_EQ(refusal(), "");
  if (geteuid() == 0) {
    ASSERT_EQ(chown(path_.c_str(), 12345, 12345), 0);
    EXPECT_THAT(refusal(), testing::HasSubstr("is of user 12345; allowed: a file of this user"));
  }
  ASSERT_EQ(unlink(path_.c_str()), 0);
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_THAT(refusal(), testing::HasSubstr("is no regular file"));
  ASSERT_EQ(unlink(path_.c_str()), 0);
  ASSERT_EQ(symlink("/dev/shm/elsewhere", path_.c_str()), 0);
  EXPECT_THAT(refusal(), testing::HasSubstr("cannot open")) << "a link";
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
