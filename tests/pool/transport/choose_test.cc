// The transports themselves: memory that is served, read and checked byte for byte (L2).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <iterator>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/prng.h"
#include "pool/transport/mapped.h"
#include "pool/transport/transport.h"
#include "tests/testbed/no_descriptors.h"

namespace tributary::pool {
namespace {

using testbed::closes;
using testbed::NoDescriptors;

struct Pages {
  explicit Pages(std::size_t bytes) : memory{{}, memfd_create("pages", MFD_CLOEXEC)} {
    EXPECT_EQ(ftruncate(memory.file, static_cast<off_t>(bytes)), 0);
    void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory.file, 0);
    EXPECT_NE(at, MAP_FAILED);
    memory.bytes = {static_cast<std::byte*>(at), bytes};
    Prng prng(3);
    for (auto& b : memory.bytes) b = static_cast<std::byte>(prng.next());
  }
  ~Pages() {
    munmap(memory.bytes.data(), memory.bytes.size());
    close(memory.file);
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  LocalMemory memory;
};

class PoolTransportTimed : public testing::TestWithParam<TransportKind> {};

TEST_P(PoolTransportTimed, L2ReadsWhatIsThereWithHeaderAndDataApart) {
  Pages pages(8 << 20);
  const auto server = serve_memory(GetParam(), "127.0.0.1", pages.memory);
  EXPECT_EQ(server->kind(), GetParam());
  const auto permit = server->admit("");
  EXPECT_EQ(permit->memory().transport, GetParam());
  const auto domain = make_read_domain();
  const auto reader = domain->connect(permit->memory());
  constexpr std::size_t kReads = 500;
  Prng prng(9);
  std::vector<std::vector<std::byte>> headers(kReads, std::vector<std::byte>(32));
  std::vector<std::vector<std::byte>> data(kReads);
  std::vector<std::uint64_t> offsets(kReads);
  std::size_t done = 0;
  const auto poll = [&] {
    std::vector<Completion> completions(16);
    const std::size_t got = reader->poll(completions);
    for (std::size_t i = 0; i < got; ++i) {
      ASSERT_TRUE(completions[i].good);
      const std::uint64_t n = completions[i].context;
      const auto expected = pages.memory.bytes.subspan(offsets[n]);
      ASSERT_TRUE(std::equal(headers[n].begin(), headers[n].end(), expected.begin()));
      ASSERT_TRUE(std::equal(data[n].begin(), data[n].end(), expected.begin() + 32));
    }
    done += got;
  };
  for (std::size_t n = 0; n < kReads; ++n) {
    data[n].resize(n % 7 == 0 ? 0 : 1 + prng.below(200'000));
    offsets[n] =
        prng.below(static_cast<std::uint32_t>(pages.memory.bytes.size() - data[n].size() - 32));
    while (!reader->post({offsets[n], headers[n], data[n], n})) poll();
  }
  // Waiting where the transport can: what it waits for comes.
  while (done < kReads) {
    if (const int file = reader->wait_file(); file >= 0) {
      pollfd ready{file, POLLIN, 0};
      ASSERT_EQ(::poll(&ready, 1, 30'000), 1);
    }
    poll();
  }
  EXPECT_EQ(reader->in_flight(), 0u);
}

// Not of shm: there the kernel's rights to another process's memory decide, and no key.
class PoolTransportKeysTimed : public testing::TestWithParam<TransportKind> {};
TEST_P(PoolTransportKeysTimed, L4WrongKeyReadsNothing) {
  Pages pages(1 << 20);
  const auto server = serve_memory(GetParam(), "127.0.0.1", pages.memory);
  const auto permit = server->admit("");
  RemoteMemory wrong = permit->memory();
  wrong.key ^= 0x5555;
  const auto domain = make_read_domain();
  std::vector<std::byte> header(32);
  std::vector<std::byte> data(1000);
  bool refused = false;
  try {
    const auto reader = domain->connect(wrong);
    std::vector<Completion> completions(1);
    while (!reader->post({0, header, data, 1})) ASSERT_EQ(reader->poll(completions), 0u);
    while (reader->poll(completions) == 0) {
    }
    refused = !completions[0].good;
  } catch (const TransportError&) {
    refused = true;
  }
  EXPECT_TRUE(refused);
  EXPECT_EQ(data, std::vector<std::byte>(1000));
}

TEST_P(PoolTransportTimed, AddressThatMeansNothingIsRefused) {
  RemoteMemory memory;
  memory.transport = GetParam();
  memory.address.resize(64);
  const auto domain = make_read_domain();
  bool refused = false;
  try {
    const auto reader = domain->connect(memory);
    std::vector<std::byte> header(32);
    std::vector<Completion> completions(1);
    while (!reader->post({0, header, {}, 1})) {
      if (reader->poll(completions) != 0) break;
    }
    while (reader->poll(completions) == 0) {
    }
    refused = !completions[0].good;
  } catch (const TransportError&) {
    refused = true;
  }
  EXPECT_TRUE(refused);
}

INSTANTIATE_TEST_SUITE_P(Libfabric, PoolTransportTimed,
                         testing::Values(TransportKind::tcp, TransportKind::shm,
                                         TransportKind::mapped),
                         [](const auto& test) { return name_of(test.param); });
INSTANTIATE_TEST_SUITE_P(WithKeys, PoolTransportKeysTimed,
                         testing::Values(TransportKind::tcp, TransportKind::mapped),
                         [](const auto& test) { return name_of(test.param); });

TEST(PoolTransportTcpTimed, L4APermitThatHasEndedReadsNothing) {
  Pages pages(1 << 20);
  const auto server = serve_memory(TransportKind::tcp, "127.0.0.1", pages.memory);
  auto first = server->admit("");
  const auto second = server->admit("");
  EXPECT_NE(first->memory().key, second->memory().key);
  const auto domain = make_read_domain();
  const auto reads = [&](NodeReader& reader) {
    std::vector<std::byte> header(32);
    std::vector<Completion> completions(1);
    while (!reader.post({0, header, {}, 1})) EXPECT_EQ(reader.poll(completions), 0u);
    while (reader.poll(completions) == 0) {
    }
    return completions[0].good;
  };
  const auto ends = domain->connect(first->memory());
  const auto stays = domain->connect(second->memory());
  EXPECT_TRUE(reads(*ends));
  first.reset();
  EXPECT_FALSE(reads(*ends));
  EXPECT_TRUE(reads(*stays));
}

TEST(PoolTransportMappedTimed, L2ReadersReadNothingBeyondTheMemory) {
  Pages pages(1 << 20);
  const auto server = serve_memory(TransportKind::mapped, "127.0.0.1", pages.memory);
  const auto domain = make_read_domain();
  const auto reader = domain->connect(server->admit("")->memory());
  std::vector<std::byte> header(32);
  std::vector<std::byte> data(100);
  EXPECT_THROW(reader->post({(1 << 20) - 131, header, data, 1}), TransportError);
  EXPECT_THROW(reader->post({~std::uint64_t{0} - 10, header, data, 1}), TransportError);
  EXPECT_TRUE(reader->post({(1 << 20) - 132, header, data, 1}));
  RemoteMemory more = server->admit("")->memory();
  more.bytes *= 2;
  EXPECT_THROW(domain->connect(more), TransportError);
}

TEST(PoolTransportMappedTimed, ReadersAreRefusedWhereNoDescriptorIsLeft) {
  Pages pages(1 << 20);
  const auto server = serve_memory(TransportKind::mapped, "127.0.0.1", pages.memory);
  const int reader = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  const AbstractAddress address(server->admit("")->memory().address);
  {
    const NoDescriptors none;
    ASSERT_EQ(connect(reader, address.get(), address.length), 0);
    EXPECT_TRUE(closes(reader)) << "it must not be left waiting";
  }
  close(reader);
  std::vector<std::byte> header(32);
  EXPECT_TRUE(make_read_domain()->connect(server->admit("")->memory())->post({0, header, {}, 1}));
}

class SilentReaders {
 public:
  SilentReaders(MemoryServer& server, std::size_t count) {
    const AbstractAddress address(server.admit("")->memory().address);
    for (std::size_t i = 0; i < count; ++i) {
      files_.push_back(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
      EXPECT_EQ(connect(files_.back(), address.get(), address.length), 0);
    }
  }
  ~SilentReaders() {
    for (const int file : files_) close(file);
  }
  SilentReaders(const SilentReaders&) = delete;
  SilentReaders& operator=(const SilentReaders&) = delete;
  [[nodiscard]] int oldest() const { return files_.front(); }

 private:
  std::vector<int> files_;
};

TEST(PoolTransportMappedTimed, ANewcomerReplacesTheOldestConnectionThatHasNotSentTheKey) {
  Pages pages(1 << 20);
  const auto server = serve_by_mapping(pages.memory, {8, Duration::seconds(600)});
  const SilentReaders reader(*server, 1);
  const std::uint64_t key = server->admit("")->memory().key;
  ASSERT_EQ(send(reader.oldest(), &key, sizeof key, 0), static_cast<ssize_t>(sizeof key));
  char byte = 0;
  ASSERT_EQ(recv(reader.oldest(), &byte, 1, 0), 1);
  const SilentReaders silent(*server, 20);
  std::vector<std::byte> header(32);
  EXPECT_TRUE(make_read_domain()->connect(server->admit("")->memory())->post({0, header, {}, 1}));
  EXPECT_TRUE(closes(silent.oldest()));
  EXPECT_EQ(recv(reader.oldest(), &byte, 1, MSG_DONTWAIT), -1) << "readers are never replaced";
}

TEST(PoolTransportMappedTimed, ConnectionsThatDoNotSendTheKeyAreClosed) {
  Pages pages(1 << 20);
  const auto server = serve_by_mapping(pages.memory, {8, Duration::ms(50)});
  const SilentReaders silent(*server, 1);
  EXPECT_TRUE(closes(silent.oldest()));
}

TEST(PoolTransportMappedTimed, MemoryThatIsCutShortIsAnError) {
  Pages pages(1 << 20);
  const auto server = serve_memory(TransportKind::mapped, "127.0.0.1", pages.memory);
  const auto domain = make_read_domain();
  const auto reader = domain->connect(server->admit("")->memory());
  std::vector<std::byte> header(32);
  std::vector<std::byte> data(5000);
  EXPECT_TRUE(reader->post({0, header, data, 1}));
  ASSERT_EQ(ftruncate(pages.memory.file, 4096), 0);
  try {
    reader->post({0, header, data, 2});
    FAIL() << "its memory is gone";
  } catch (const TransportError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("cut short"));
  }
  EXPECT_THROW(reader->post({0, header, {}, 3}), TransportError) << "and stays so";
  Pages others(1 << 20);
  const auto other = serve_memory(TransportKind::mapped, "127.0.0.1", others.memory);
  EXPECT_TRUE(domain->connect(other->admit("")->memory())->post({0, header, data, 4}));
}

std::ptrdiff_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return std::distance(begin(all), end(all));
}

// A node that hands over `passed`, and a message of `bytes`, to the next reader.
class LyingNode {
 public:
  LyingNode(std::vector<int> passed, std::size_t bytes)
      : passed_(std::move(passed)), bytes_(bytes) {
    const AbstractAddress address(memory().address);
    EXPECT_EQ(bind(listener_, address.get(), address.length), 0);
    EXPECT_EQ(listen(listener_, 1), 0);
    thread_ = std::thread([this] { serve(); });
  }
  ~LyingNode() {
    thread_.join();
    close(listener_);
  }
  LyingNode(const LyingNode&) = delete;
  LyingNode& operator=(const LyingNode&) = delete;

  static RemoteMemory memory() {
    RemoteMemory there;
    there.transport = TransportKind::mapped;
    there.bytes = 4096;
    const std::string name = "tributary-lying-node-" + std::to_string(getpid());
    const auto bytes = std::as_bytes(std::span(name));
    there.address.assign(bytes.begin(), bytes.end());
    return there;
  }

 private:
  void serve() {
    const int reader = accept(listener_, nullptr, nullptr);
    std::uint64_t key = 0;
    EXPECT_EQ(recv(reader, &key, sizeof key, 0), static_cast<ssize_t>(sizeof key));
    char text[2] = {};
    iovec payload{text, bytes_};
    alignas(cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &payload;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(passed_.size() * sizeof(int));
    cmsghdr* const head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(passed_.size() * sizeof(int));
    std::memcpy(CMSG_DATA(head), passed_.data(), passed_.size() * sizeof(int));
    EXPECT_EQ(sendmsg(reader, &message, MSG_NOSIGNAL), static_cast<ssize_t>(bytes_));
    EXPECT_TRUE(closes(reader));
    close(reader);
  }

  const std::vector<int> passed_;
  const std::size_t bytes_;
  const int listener_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  std::thread thread_;
};

TEST(PoolTransportMappedTimed, DescriptorsOfANodeThatLiesAreClosed) {
  const std::ptrdiff_t own = open_descriptors();
  for (const auto& [passed, bytes] :
       {std::pair(std::vector{0, 0}, 1u), std::pair(std::vector{0}, 0u)}) {
    const LyingNode node(passed, bytes);
    EXPECT_THROW(make_read_domain()->connect(LyingNode::memory()), TransportError);
  }
  EXPECT_EQ(open_descriptors(), own);
}

// Faults that are not of a copy end the process, or go to the action before.
TEST(PoolTransportMappedTimedDeathTest, OtherBusErrorsGoToTheActionBefore) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto fault = [](void (*action)(int)) {
    signal(SIGBUS, action);
    Pages pages(1 << 20);
    const auto server = serve_memory(TransportKind::mapped, "127.0.0.1", pages.memory);
    const auto reader = make_read_domain()->connect(server->admit("")->memory());
    if (ftruncate(pages.memory.file, 0) != 0) return;
    *const_cast<volatile std::byte*>(pages.memory.bytes.data()) = std::byte{1};
  };
  EXPECT_EXIT(fault([](int) { _exit(7); }), testing::ExitedWithCode(7), "");
  EXPECT_EXIT(fault(SIG_DFL), testing::KilledBySignal(SIGBUS), "");
}

TEST(PoolTransportMappedTimed, MemoryWithoutAFileIsRefused) {
  std::vector<std::byte> memory(4096);
  EXPECT_THROW(serve_memory(TransportKind::mapped, "127.0.0.1", {memory, -1}), TransportError);
}

TEST(PoolTransportChoiceTimed, WithoutADeviceLoopbackIsMappedAndTheRestTcp) {
  EXPECT_EQ(choose_transport("127.0.0.1"), TransportKind::mapped);
  EXPECT_EQ(choose_transport("::1"), TransportKind::mapped);
  EXPECT_EQ(choose_transport("192.0.2.1"), TransportKind::tcp);
}

TEST(PoolTransportChoiceTimed, VerbsWithoutADeviceSaysSo) {
  std::vector<std::byte> memory(4096);
  try {
    serve_memory(TransportKind::verbs, "127.0.0.1", {memory, -1});
    FAIL() << "an RDMA device at the loopback address";
  } catch (const TransportError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("verbs"));
  }
}

}  // namespace
}  // namespace tributary::pool
