// A client whose manager is away, slow or ends: it tries again until its time is over.
#include "manager/api/client.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/server_posix.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "manager/api/manager.grpc.pb.h"
#include "manager/api/server.h"
#include "manager/store/sqlite_store.h"
#include "tests/manager/store/scratch.h"
#include "tests/manager/tree.h"

namespace tributary::manager {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

struct Bed {
  Bed()
      : store(scratch.file()),
        cluster(store, {{{.name = "a"}}, {}, assemble(two_level_tree())}, {}),
        pods(store, {}, [] { return Distances{}; }, {}),
        client({"unix:" + socket(), "", "", ""}) {}

  [[nodiscard]] std::string socket() const { return scratch.file() + ".sock"; }
  void start() {
    server = std::make_unique<Server>(cluster, pods, ListenOptions{socket(), "", {}},
                                      [] { return Instant{}; });
  }
  std::string error_of(const std::string& method, const std::string& request = "{}",
                       Duration timeout = Duration::seconds(60)) {
    try {
      static_cast<void>(client.call(method, request, timeout));
    } catch (const ManagerError& error) {
      return error.code() + ": " + error.what();
    }
    return "none";
  }

  Scratch scratch;
  SqliteStore store;
  Cluster cluster;
  PodCluster pods;
  std::unique_ptr<Server> server;
  Client client;
};

TEST(ClientTimed, WaitsForAManagerThatStarts) {
  Bed bed;
  auto error = std::async(std::launch::async, [&] { return bed.error_of("Jobs.List"); });
  EXPECT_EQ(error.wait_for(300ms), std::future_status::timeout);
  bed.start();
  EXPECT_EQ(error.get(), "none");
}

TEST(ClientTimed, SaysAtItsLimitWhyNoManagerWasReached) {
  Bed bed;
  EXPECT_THAT(bed.error_of("Jobs.Submit", "{}", Duration::ms(300)),
              AllOf(StartsWith("DEADLINE_EXCEEDED: no manager answers at unix:"),
                    HasSubstr("No such file or directory")));
}

// A socket that listens, and a gRPC server without methods for one connection to it.
class SlowManager {
 public:
  explicit SlowManager(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener_, 8), 0);
    grpc::ServerBuilder builder;
    builder.RegisterService(&jobs_);
    server_ = builder.BuildAndStart();
  }
  ~SlowManager() {
    server_->Shutdown(std::chrono::system_clock::now());
    ::close(listener_);
  }
  SlowManager(const SlowManager&) = delete;
  SlowManager& operator=(const SlowManager&) = delete;

  // Returns false if the client has closed its first connection before there was an answer.
  bool serve_one(std::chrono::milliseconds late) {
    const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    pollfd closed{fd, POLLRDHUP, 0};
    const bool waits = ::poll(&closed, 1, static_cast<int>(late.count())) == 0;
    grpc::AddInsecureChannelFromFd(server_.get(), fd);
    return waits;
  }

 private:
  const int listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  v1::Jobs::Service jobs_;
  std::unique_ptr<grpc::Server> server_;
};

TEST(ClientTimed, AwaitsASlowAnswerToItsConnection) {
  Bed bed;
  SlowManager manager(bed.socket());
  auto waits = std::async(std::launch::async, [&] { return manager.serve_one(500ms); });
  EXPECT_THAT(bed.error_of("Jobs.List", "{}", Duration::seconds(3)), StartsWith("UNIMPLEMENTED"));
  EXPECT_TRUE(waits.get());
}

// A manager that takes a call and does not answer it.
struct SilentManager final : v1::Cluster::Service {
  explicit SilentManager(const std::string& path) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + path, grpc::InsecureServerCredentials());
    builder.RegisterService(this);
    server = builder.BuildAndStart();
  }
  ~SilentManager() override { server->Shutdown(std::chrono::system_clock::now()); }
  SilentManager(const SilentManager&) = delete;
  SilentManager& operator=(const SilentManager&) = delete;
  grpc::Status Topology(grpc::ServerContext* context, const v1::TopologyRequest*,
                        v1::TopologyReply*) override {
    asked.set_value();
    std::unique_lock lock(mutex);
    while (!context->IsCancelled()) looks.wait_for(lock, 10ms);
    return grpc::Status::CANCELLED;
  }
  std::promise<void> asked;
  std::mutex mutex;
  std::condition_variable looks;  // told nothing: gRPC does not say when a call is cancelled
  std::unique_ptr<grpc::Server> server;
};

TEST(ClientTimed, ACallEndsWhenItsCallerDoes) {
  for (const bool is_reached : {false, true}) {
    Bed bed;
    std::optional<SilentManager> manager;
    if (is_reached) manager.emplace(bed.socket());
    const int stop = ::eventfd(0, EFD_CLOEXEC);
    auto code = std::async(std::launch::async, [&] {
      Client client({"unix:" + bed.socket(), "", "", ""}, stop);
      std::string codes;
      // The next ones end before they begin.
      for (int call = 0; call < 3; ++call) try {
          static_cast<void>(client.call("Cluster.Topology", "{}", Duration::seconds(60)));
        } catch (const ManagerError& error) {
          codes += error.code() + " ";
        }
      return codes;
    });
    EXPECT_EQ(code.wait_for(300ms), std::future_status::timeout);
    if (manager) manager->asked.get_future().wait();
    ::eventfd_write(stop, 1);
    EXPECT_EQ(code.wait_for(20s), std::future_status::ready) << is_reached;
    EXPECT_EQ(code.get(), "CANCELLED CANCELLED CANCELLED ");
    ::close(stop);
  }
}

TEST(ClientTimed, AWatchThatTheManagersEndInterruptsHasNoEnd) {
  Bed bed;
  bed.start();
  ASSERT_EQ(
      bed.error_of("Jobs.Submit", R"({"request": "tenant: a\njob: {name: one, workers: 5}\n"})"),
      "none");
  int replies = 0;
  try {
    bed.client.watch(
        "one",
        [&](const std::string&) {
          if (replies++ == 0) bed.cluster.stop();
          return true;
        },
        Duration::ms(500));
    ADD_FAILURE() << "ended well";
  } catch (const ManagerError& error) {
    EXPECT_EQ(error.code(), "DEADLINE_EXCEEDED");
  }
  EXPECT_EQ(replies, 1);
}

}  // namespace
}  // namespace tributary::manager
