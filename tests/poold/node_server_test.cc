// A node and its loaders in one process: fill, load, and everything that goes wrong between them
// (L1 to L4).
#include "tools/poold/node_server.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <iterator>

#include "pool/loader/gpu_target.h"
#include "tests/poold/pool_nodes.h"
#include "tests/testbed/no_descriptors.h"

namespace tributary::poold {
namespace {

using testbed::closes;
using testbed::NoDescriptors;

TEST_F(PoolNodesTimed, L2EveryRecordComesFromThePoolAndIsRight) {
  start_all();
  fill_all();
  std::uint64_t held = 0;
  for (const auto& server : servers_) {
    EXPECT_EQ(server->status().records, server->status().own_records);
    held += server->status().records;
  }
  EXPECT_EQ(held, 2 * kRecords) << "each record and its replica";
  Loader loader(config_);
  EXPECT_EQ(load_all(loader), 0);
  EXPECT_EQ(loader.counters().hits, kRecords);
  EXPECT_EQ(loader.counters().misses, 0u);
}

TEST_F(PoolNodesTimed, L1EmptyPoolAndNoPoolReadFromTheStore) {
  Loader alone(config_);
  EXPECT_EQ(load_all(alone), 0);
  EXPECT_EQ(alone.counters().misses, kRecords);
  for (const NodeState& node : alone.nodes()) {
    EXPECT_FALSE(node.up);
    EXPECT_FALSE(node.problem.empty());
  }
  start_all();
  Loader loader(config_);
  EXPECT_EQ(load_all(loader), 0);
  EXPECT_EQ(loader.counters().misses, kRecords);
}

TEST_F(PoolNodesTimed, L1FullNodesTakeWhatFitsAndTheRestComesFromTheStore) {
  for (auto& node : config_.nodes) node.megabytes = 1;
  config_.cache.high_water_percent = 20;
  start_all();
  fill_all();
  EXPECT_GT(servers_[0]->status().cache.refused, 0u);
  Loader loader(config_);
  EXPECT_EQ(load_all(loader), 0);
  EXPECT_GT(loader.counters().hits, 50u);
  EXPECT_GT(loader.counters().misses, 50u);
  EXPECT_EQ(loader.counters().hits + loader.counters().misses, kRecords);
}

TEST_F(PoolNodesTimed, L1EpochGoesOnFromReplicasAfterANodesDeath) {
  start_all();
  fill_all();
  Loader loader(config_);
  EXPECT_EQ(load_all(loader), 0);
  servers_[1].reset();
  EXPECT_EQ(load_all(loader), 0);
  EXPECT_EQ(loader.counters().node_failures, 1u);
  EXPECT_EQ(loader.counters().hits, 2 * kRecords) << "replicas have all that was on it";
  servers_[2].reset();
  EXPECT_EQ(load_all(loader), 0);
  EXPECT_GT(loader.counters().misses, 0u) << "the store has what was on both";
}

TEST_F(PoolNodesTimed, L4RestartedNodeServesWhatItsMemoryHolds) {
  start_all();
  fill_all();
  const std::uint64_t records = servers_[0]->status().records;
  servers_[0].reset();
  start(0);
  EXPECT_EQ(servers_[0]->status().memory, MemoryOrigin::taken_over);
  EXPECT_EQ(servers_[0]->status().cache.recovered, records);
  Loader loader(config_);
  EXPECT_EQ(load_all(loader), 0);
  EXPECT_EQ(loader.counters().hits, kRecords);
}

TEST_F(PoolNodesTimed, L4ReaderThatIsFarBehindReadsTheWholeTable) {
  config_.nodes[0].megabytes = 32;
  start(0);
  NodeLink reader = link(0, LinkUse::read);
  NodeLink commands = operate(0);
  const auto fill = [&] {
    commands.command(CommandKind::fill, 0, kRecords);
    while (servers_[0]->status().fill.running) std::this_thread::yield();
  };
  fill();
  std::uint64_t told = 0;
  reader.refresh([&](const PlacedRecord&) { ++told; });
  const std::uint64_t held = servers_[0]->status().records;
  EXPECT_EQ(told, held);
  EXPECT_FALSE(reader.renew()) << "it has seen all";
  for (std::uint64_t changes = 0; changes < 2 * held + 2 * NodeCache::kLogSlack;
       changes += 2 * held) {
    commands.command(CommandKind::evict, 0, kRecords);
    fill();
  }
  EXPECT_TRUE(reader.renew());
  EXPECT_EQ(reader.generation(), 0u) << "it was told to forget what it knew";
  told = 0;
  reader.refresh([&](const PlacedRecord& record) { told += is_gone(record) ? 0 : 1; });
  EXPECT_EQ(told, servers_[0]->status().records);
  EXPECT_FALSE(reader.renew());
}

TEST_F(PoolNodesTimed, L4FlippedBitsAreNoticedReportedAndReadElsewhere) {
  start_all();
  fill_all();
  // Behind the nodes' backs: a bit of each record's data, in the memory of one of them.
  {
    std::fstream memory(config_.nodes[0].memory, std::ios::in | std::ios::out | std::ios::binary);
    NodeLink to = link(0, LinkUse::read);
    to.refresh([&](const PlacedRecord& r) {
      const auto at = static_cast<std::streamoff>(r.offset + sizeof(RecordHeader) + r.length / 2);
      memory.seekg(at);
      const int byte = memory.get();
      memory.seekp(at);
      memory.put(static_cast<char>(byte ^ 4));
    });
  }
  const std::uint64_t held = servers_[0]->status().records;
  Loader loader(config_);
  EXPECT_EQ(load_all(loader), 0);
  EXPECT_GT(loader.counters().corrupt, 0u);
  EXPECT_EQ(loader.counters().corrupt, servers_[0]->status().cache.corrupt)
      << "reported, and dropped";
  EXPECT_EQ(loader.counters().hits, kRecords) << "from replicas";
  const std::string verified = operate(0).command(CommandKind::verify, 0, kRecords);
  EXPECT_THAT(verified, testing::HasSubstr("\"corrupt\":" +
                                           std::to_string(held - loader.counters().corrupt)));
  EXPECT_EQ(servers_[0]->status().records, 0u);
}

// Readers that take a GPU's memory for a target, as RDMA devices do: the GPU is host memory.
class ReachingReader : public NodeReader {
 public:
  explicit ReachingReader(std::unique_ptr<NodeReader> inner) : inner_(std::move(inner)) {}
  bool post(const Read& read) override { return inner_->post(read); }
  std::size_t poll(std::span<Completion> out) override { return inner_->poll(out); }
  int wait_file() override { return inner_->wait_file(); }
  std::size_t in_flight() const override { return inner_->in_flight(); }
  TransportKind kind() const override { return inner_->kind(); }
  bool reaches(std::span<const std::byte>) const override { return true; }

 private:
  std::unique_ptr<NodeReader> inner_;
};
class ReachingDomain : public ReadDomain {
 public:
  static std::unique_ptr<ReadDomain> make() { return std::make_unique<ReachingDomain>(); }
  std::unique_ptr<NodeReader> connect(const RemoteMemory& memory) override {
    return std::make_unique<ReachingReader>(inner_->connect(memory));
  }
  std::unique_ptr<RegisteredBuffer> register_buffer(std::span<std::byte> buffer) override {
    return inner_->register_buffer(buffer);
  }
  std::unique_ptr<RegisteredBuffer> register_device(const DeviceBuffer& memory) override {
    return inner_->register_device(memory);
  }

 private:
  std::unique_ptr<ReadDomain> inner_ = make_read_domain();
};

class PoolNodesAndGpuTimed : public PoolNodesTimed {
 protected:
  PoolNodesAndGpuTimed() : fake_(dlopen(fake_cuda().c_str(), RTLD_NOW)) {
    start_all();
    fill_all();
    for (std::uint64_t id = 0; id < kRecords; ++id) {
      ids_.push_back(id);
      offsets_.push_back(memory_.size());
      memory_.resize(memory_.size() + record(id).size());
    }
    allocate(1);
  }
  ~PoolNodesAndGpuTimed() override {
    call<void>("fake_cuda_allocation", std::uint64_t{0}, static_cast<void*>(nullptr),
               std::size_t{0});
    dlclose(fake_);
  }
  // Beside the test, or where CMake's build has its libraries.
  static std::string fake_cuda() {
    const auto folder = fs::read_symlink("/proc/self/exe").parent_path();
    const auto beside = folder / "libfake_cuda.so";
    return (fs::exists(beside) ? beside : folder / "../lib/libfake_cuda.so").string();
  }
  template <typename Result, typename... Arguments>
  Result call(const char* name, Arguments... arguments) {
    return reinterpret_cast<Result (*)(Arguments...)>(dlsym(fake_, name))(arguments...);
  }
  void allocate(std::uint64_t id) {
    call<void>("fake_cuda_allocation", id, static_cast<void*>(memory_.data()), memory_.size());
  }
  // Copies that the driver made meanwhile.
  std::uint64_t load(Loader& loader) {
    const auto before = call<std::uint64_t>("fake_cuda_copies");
    std::fill(memory_.begin(), memory_.end(), std::byte{0});
    GpuTarget target(loader, driver_, 0, 20'000);
    const auto address = reinterpret_cast<CuDevicePtr>(memory_.data());
    target.get_batch(address, memory_.size(), ids_, offsets_);
    return call<std::uint64_t>("fake_cuda_copies") - before;
  }
  int wrong() {
    int wrong = 0;
    for (std::uint64_t id = 0; id < kRecords; ++id) {
      const std::string expected = record(id);
      wrong += std::memcmp(memory_.data() + offsets_[id], expected.data(), expected.size()) != 0;
    }
    return wrong;
  }
  void flip_bits_of_node_a() {
    std::fstream file(config_.nodes[0].memory, std::ios::in | std::ios::out | std::ios::binary);
    const std::string all{std::istreambuf_iterator<char>(file), {}};
    for (std::uint64_t id = 0; id < kRecords; ++id) {
      const std::size_t at = all.find(record(id));
      if (at == std::string::npos) continue;
      file.seekp(static_cast<std::streamoff>(at + 50));
      file.put(static_cast<char>(all[at + 50] ^ 4));
    }
  }

  void* const fake_;
  CudaDriver driver_{fake_cuda()};
  std::vector<std::byte> memory_;  // the GPU's
  std::vector<std::uint64_t> ids_;
  std::vector<std::uint64_t> offsets_;
};

TEST_F(PoolNodesAndGpuTimed, L2DevicesReadIntoAGpusMemoryAndTheCheckIsMadeOfACopy) {
  config_.load.gpu_path = GpuPath::direct;
  Loader loader(config_, ReachingDomain::make);
  EXPECT_EQ(load(loader), kRecords) << "each was copied down, none up";
  EXPECT_EQ(wrong(), 0);
  EXPECT_EQ(loader.counters().hits, kRecords);
  allocate(2);
  EXPECT_EQ(load(loader), kRecords) << "another allocation at the same address";
  EXPECT_EQ(wrong(), 0);
}

TEST_F(PoolNodesAndGpuTimed, L2UncheckedReadsAreNotCopied) {
  config_.load.gpu_path = GpuPath::unchecked;
  Loader loader(config_, ReachingDomain::make);
  EXPECT_EQ(load(loader), 0u);
  EXPECT_EQ(wrong(), 0);
}

TEST_F(PoolNodesAndGpuTimed, L4FlippedBitsInAGpusMemoryAreNoticedAndReadElsewhere) {
  config_.load.gpu_path = GpuPath::direct;
  Loader loader(config_, ReachingDomain::make);
  flip_bits_of_node_a();
  load(loader);
  EXPECT_EQ(wrong(), 0);
  EXPECT_GT(loader.counters().corrupt, 0u);
  EXPECT_EQ(loader.counters().misses, 0u) << "from replicas";
}

TEST_F(PoolNodesAndGpuTimed, L2WhatNoDeviceReachesGoesThroughHostMemory) {
  config_.load.gpu_path = GpuPath::direct;
  Loader unreached(config_);
  load(unreached);
  EXPECT_EQ(wrong(), 0);
  allocate(0);
  call<void>("fake_cuda_allocation", std::uint64_t{3}, static_cast<void*>(nullptr), std::size_t{0});
  Loader unknown(config_, ReachingDomain::make);
  load(unknown);
  EXPECT_EQ(wrong(), 0) << "the driver does not say which allocation it is";
  EXPECT_EQ(unknown.counters().hits, kRecords);
}

TEST_F(PoolNodesTimed, L4RecordsThatMovedAreLookedUpAgain) {
  start_all();
  fill_all();
  Loader loader(config_);
  EXPECT_EQ(load_all(loader), 0);
  for (std::size_t n = 0; n < servers_.size(); ++n)
    operate(n).command(CommandKind::evict, 0, kRecords);
  EXPECT_EQ(load_all(loader), 0);
  EXPECT_EQ(loader.counters().hits + loader.counters().misses, 2 * kRecords);
  EXPECT_GE(loader.counters().misses, kRecords);
}

TEST_F(PoolNodesTimed, L1StoreThatChangedIsNamedAndTheRestIsLoaded) {
  start_all();
  write(5, "another text");
  fill_all();
  const FillProgress fill = servers_[0]->status().fill;
  const FillProgress other = servers_[1]->status().fill;
  const FillProgress third = servers_[2]->status().fill;
  EXPECT_EQ(fill.failed + other.failed + third.failed, 2u) << "the record and its replica";
  Loader loader(config_);
  try {
    load_all(loader);
    FAIL() << "record 5 cannot be loaded";
  } catch (const LoadError& error) {
    EXPECT_EQ(error.ids(), std::vector<std::uint64_t>{5});
    EXPECT_THAT(error.what(), testing::HasSubstr("make the manifest again"));
  }
}

TEST_F(PoolNodesTimed, BadRequestsOfLoadersAreRefusedBeforeAnythingIsRead) {
  Loader loader(config_);
  std::vector<std::byte> target(loader.length(0));
  EXPECT_THROW(loader.get_into(kRecords, target), std::out_of_range);
  EXPECT_THROW(loader.get_into(0, std::span(target).first(target.size() - 1)), std::length_error);
  const std::uint64_t ids[] = {0, 1};
  const std::span<std::byte> one[] = {target};
  EXPECT_THROW(loader.get_batch(ids, one), std::length_error);
}

TEST_F(PoolNodesTimed, KeysAreGivenToThoseWhoKnowTheTokenAlone) {
  const fs::path token = folder_ / "token";
  std::ofstream(token) << "0123456789abcdef\n";
  fs::permissions(token, fs::perms::owner_read | fs::perms::owner_write);
  config_.token_file = token.string();
  start_all();
  EXPECT_NO_THROW(link(0));
  std::ofstream(token) << "another-token-of-a-stranger\n";
  try {
    link(0);
    FAIL() << "a stranger was let in";
  } catch (const StreamError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("token"));
  }
  fs::permissions(token, fs::perms::others_read, fs::perm_options::add);
  EXPECT_THROW(read_token(config_), std::runtime_error) << "others may read it";
}

TEST_F(PoolNodesTimed, TwoPoolsOfOneNameAreToldApart) {
  start_all();
  write(kRecords, "one more");
  make_manifest_again();
  try {
    link(0);
    FAIL() << "another manifest";
  } catch (const StreamError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("two pools of one name"));
  }
  config_.name = "other";
  EXPECT_THROW(link(0), StreamError);
  EXPECT_EQ(servers_[0]->status().denied, 2u);
  EXPECT_THROW(start(0), std::runtime_error) << "its memory is in use";
}

TEST_F(PoolNodesTimed, ConnectionsAreRefusedWhereNoDescriptorIsLeft) {
  start(0);
  const auto [host, port] = split_address(config_.nodes[0].address);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(port)));
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  {
    const NoDescriptors none;
    ASSERT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_TRUE(closes(fd)) << "it must not be left waiting";
  }
  close(fd);
  EXPECT_NO_THROW(link(0));
}

TEST_F(PoolNodesTimed, ChildrenOfAForkReadByConnectionsOfTheirOwn) {
  start_all();
  fill_all();
  Loader loader(config_);
  EXPECT_EQ(load_all(loader), 0);
  const pid_t child = fork();
  if (child == 0) {
    const bool good = load_all(loader) == 0 && loader.counters().hits == kRecords;
    _exit(good ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(load_all(loader), 0);
}

}  // namespace
}  // namespace tributary::poold
