// Targets in a GPU's memory, with a driver whose GPU is host memory (L2).
#include "pool/loader/gpu_target.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/pool/stored_pool.h"

namespace tributary::pool {
namespace {

// Beside the test, or where CMake's build has its libraries.
std::string fake_cuda() {
  const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const auto beside = folder / "libfake_cuda.so";
  return (std::filesystem::exists(beside) ? beside : folder / "../lib/libfake_cuda.so").string();
}

class PoolGpuTarget : public testing::Test {
 protected:
  PoolGpuTarget() : fake_(dlopen(fake_cuda().c_str(), RTLD_NOW)) {}
  ~PoolGpuTarget() override {
    call<void>("fake_cuda_fail_at", -1);
    dlclose(fake_);
  }
  template <typename Result, typename... Arguments>
  Result call(const char* name, Arguments... arguments) {
    return reinterpret_cast<Result (*)(Arguments...)>(dlsym(fake_, name))(arguments...);
  }
  CuDevicePtr address() { return reinterpret_cast<CuDevicePtr>(memory_.data()); }
  std::string at(std::uint64_t offset, std::size_t length) {
    return {reinterpret_cast<const char*>(memory_.data()) + offset, length};
  }

  void* const fake_;
  StoredPool stored_{"gpu"};
  Loader loader_{load_pool_config(stored_.config())};
  CudaDriver driver_{fake_cuda()};
  std::vector<std::byte> memory_ = std::vector<std::byte>(1 << 16);
};

TEST_F(PoolGpuTarget, L2RecordsArriveThroughBuffersThatAreSmallerThanTheBatch) {
  {
    GpuTarget target(loader_, driver_, 0, 128);
    std::vector<std::uint64_t> ids;
    std::vector<std::uint64_t> offsets;
    for (std::uint64_t id = 0; id < StoredPool::kRecords; ++id) {
      ids.push_back(id);
      offsets.push_back(id * 100);
    }
    target.get_batch(address(), memory_.size(), ids, offsets);
    for (const std::uint64_t id : ids) {
      EXPECT_EQ(at(id * 100, id + 1), StoredPool::text(id));
      EXPECT_EQ(at(id * 100 + id + 1, 1), std::string(1, '\0')) << "no byte beyond the record";
    }
  }
  EXPECT_EQ(call<int>("fake_cuda_left"), 0) << "streams, pinned memory and contexts are given back";
}

TEST_F(PoolGpuTarget, L2BuffersGrowForLongRecords) {
  GpuTarget target(loader_, driver_, 0, 16);
  const std::uint64_t ids[] = {39, 2, 38};
  const std::uint64_t offsets[] = {0, 1000, 2000};
  target.get_batch(address(), memory_.size(), ids, offsets);
  EXPECT_EQ(at(0, 40), StoredPool::text(39));
  EXPECT_EQ(at(1000, 3), StoredPool::text(2));
  EXPECT_EQ(at(2000, 39), StoredPool::text(38));
}

TEST_F(PoolGpuTarget, BadTargetsAreRefusedBeforeAnythingIsLoaded) {
  GpuTarget target(loader_, driver_, 0, 128);
  const std::uint64_t ids[] = {0, 30};
  const std::uint64_t beyond[] = {0, 80};
  EXPECT_THROW(target.get_batch(address(), 100, ids, beyond), std::length_error);
  const std::uint64_t unknown[] = {0, StoredPool::kRecords};
  EXPECT_THROW(target.get_batch(address(), 100, unknown, beyond), std::out_of_range);
  const std::uint64_t good[] = {0, 40};
  EXPECT_THROW(target.get_batch(16, 100, ids, good), GpuError) << "no memory of a GPU";
  EXPECT_EQ(at(0, 1), std::string(1, '\0'));
  EXPECT_THROW(GpuTarget(loader_, driver_, 1), GpuError) << "there is no GPU 1";
}

TEST_F(PoolGpuTarget, FailuresOfTheDriverAreSaid) {
  GpuTarget target(loader_, driver_, 0);
  call<void>("fake_cuda_fail_at", 1);
  const std::uint64_t ids[] = {0, 1, 2};
  const std::uint64_t offsets[] = {0, 100, 200};
  try {
    target.get_batch(address(), memory_.size(), ids, offsets);
    FAIL() << "a copy that failed";
  } catch (const GpuError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("illegal address (700)"));
  }
  target.get_batch(address(), memory_.size(), ids, offsets);
  EXPECT_EQ(at(200, 3), StoredPool::text(2));
}

TEST(PoolCudaDriver, MissingDriverIsSaid) {
  try {
    const CudaDriver driver("libcuda-that-is-not-there.so.1");
    FAIL();
  } catch (const GpuError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("needs NVIDIA's driver"));
  }
  EXPECT_THROW(CudaDriver("libc.so.6"), GpuError) << "no driver: it has no cuInit";
}

}  // namespace
}  // namespace tributary::pool
