// Registration of targets with a library that stands for libibverbs: what a GPU's memory becomes
// where the kernel knows dmabufs, where nvidia-peermem is loaded, and where neither is (L2).
#include "pool/transport/verbs_region.h"

#include <gtest/gtest.h>
#include <infiniband/verbs.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

namespace tributary::pool {
namespace {

struct Fake {
  bool takes_dmabufs = true;
  bool takes_addresses = true;
  int registered = 0;
  int dmabufs = 0;
  std::uint64_t dmabuf_offset = 0;
  int dmabuf_file = -1;
  int domains = 0;
} fake;

ibv_mr* made() {
  ++fake.registered;
  auto* const region = new ibv_mr{};
  region->lkey = static_cast<std::uint32_t>(100 + fake.registered);
  return region;
}

const VerbsMemory kCalls = {
    [](ibv_context*) {
      ++fake.domains;
      return new ibv_pd{};
    },
    [](ibv_pd* domain) {
      --fake.domains;
      delete domain;
    },
    [](ibv_pd*, std::span<std::byte>) -> ibv_mr* {
      errno = EFAULT;
      return fake.takes_addresses ? made() : nullptr;
    },
    [](ibv_pd*, const DeviceBuffer& memory) -> ibv_mr* {
      errno = EOPNOTSUPP;
      if (!fake.takes_dmabufs) return nullptr;
      ++fake.dmabufs;
      fake.dmabuf_offset = memory.offset;
      fake.dmabuf_file = memory.dmabuf;
      return made();
    },
    [](ibv_mr* region) {
      --fake.registered;
      delete region;
    },
    [](const ibv_mr* region) { return region->lkey; },
};

class PoolRegistry : public testing::Test {
 protected:
  PoolRegistry() { fake = {}; }
  ~PoolRegistry() override {
    registry_.reset();
    EXPECT_EQ(fake.registered, 0);
    EXPECT_EQ(fake.domains, 0);
    close(file_);
  }
  ibv_context* device(std::size_t n) { return &devices_[n]; }
  DeviceBuffer gpu() { return {gpu_memory_, file_, 64}; }

  std::vector<std::byte> host_ = std::vector<std::byte>(1000);
  std::vector<std::byte> gpu_memory_ = std::vector<std::byte>(1000);
  const int file_ = memfd_create("dmabuf", MFD_CLOEXEC);
  std::vector<ibv_context> devices_ = std::vector<ibv_context>(2);
  std::unique_ptr<Registry> registry_ = std::make_unique<Registry>(kCalls);
};

TEST_F(PoolRegistry, L2TargetsAreKnownToDevicesOfBeforeAndAfter) {
  ibv_pd* const first = registry_->domain_of(device(0));
  const auto place = registry_->add({host_}, true);
  ibv_pd* const second = registry_->domain_of(device(1));
  EXPECT_EQ(registry_->domain_of(device(0)), first);
  const auto part = std::span(host_).subspan(100, 50);
  EXPECT_NE(registry_->key_of(first, part), registry_->key_of(second, part));
  EXPECT_FALSE(registry_->reaches(first, part)) << "host memory is no device's";
  EXPECT_THROW(static_cast<void>(registry_->key_of(first, gpu_memory_)), TransportError);
  registry_->remove(place);
  EXPECT_EQ(fake.registered, 0);
  EXPECT_THROW(static_cast<void>(registry_->key_of(first, part)), TransportError);
}

TEST_F(PoolRegistry, L2GpuMemoryIsADmabufWhereTheKernelTakesOne) {
  ibv_pd* const domain = registry_->domain_of(device(0));
  registry_->add(gpu(), false);
  EXPECT_EQ(fake.dmabufs, 1);
  EXPECT_EQ(fake.dmabuf_offset, 64u);
  EXPECT_NE(fake.dmabuf_file, file_) << "the caller closes its own";
  EXPECT_TRUE(registry_->reaches(domain, std::span(gpu_memory_).first(10)));
  EXPECT_FALSE(registry_->reaches(domain, host_));
  registry_->domain_of(device(1));
  EXPECT_EQ(fake.dmabufs, 2) << "the file is kept for devices that come later";
}

TEST_F(PoolRegistry, L2GpuMemoryIsRegisteredByAddressWherePeermemTakesIt) {
  fake.takes_dmabufs = false;
  registry_->add(gpu(), false);
  EXPECT_TRUE(registry_->reaches(registry_->domain_of(device(0)), gpu_memory_));
  EXPECT_EQ(fake.dmabufs, 0);
}

TEST_F(PoolRegistry, L2GpuMemoryThatNoDeviceTakesIsNotReached) {
  fake.takes_dmabufs = fake.takes_addresses = false;
  ibv_pd* const domain = registry_->domain_of(device(0));
  registry_->add(gpu(), false);
  EXPECT_FALSE(registry_->reaches(domain, gpu_memory_));
  try {
    registry_->add({host_}, true);
    FAIL() << "host memory has no other way";
  } catch (const TransportError& error) {
    EXPECT_NE(std::string(error.what()).find("locked memory"), std::string::npos);
  }
  EXPECT_THROW(static_cast<void>(registry_->key_of(domain, host_)), TransportError)
      << "nothing of it is left";
}

}  // namespace
}  // namespace tributary::pool
