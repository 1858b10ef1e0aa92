// Connections reach the server with all of their first bytes; others are closed, and cost no more.
#include "manager/listen/connection_gate.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

#include "manager/listen/listener.h"
#include "tests/manager/store/scratch.h"
#include "tests/testbed/no_descriptors.h"

namespace tributary::manager {
namespace {

using namespace std::string_literals;

constexpr GateLimits kPatient{.opening = Duration::seconds(3600)};
const std::string kRecord = "\x16\x03\x01\x00\x04\x01\x00\x00\x00"s;
const std::string kOpening = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0"s;

void send_text(int connection, const std::string& text) {
  ASSERT_EQ(::send(connection, text.data(), text.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(text.size()));
}

// A gate with one door at a socket of the test's folder.
struct Bed {
  explicit Bed(const GateLimits& limits, Protocol protocol = Protocol::http2)
      : listener(Listener::at_path(path())),
        gate({{listener.sockets(), protocol, [this](int, int connection) { take(connection); }}},
             limits) {}
  ~Bed() {
    for (const int one : clients) ::close(one);
    for (const int one : taken) ::close(one);
  }

  [[nodiscard]] std::string path() const { return scratch.file() + ".sock"; }
  int socket() {
    clients.push_back(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    return clients.back();
  }
  int connect() { return connect(socket()); }
  int connect(int client) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path().copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(::connect(client, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    return client;
  }
  void take(int connection) {
    const std::lock_guard lock(mutex);
    taken.push_back(connection);
    changed.notify_all();
  }
  // What the server reads first of the connection that was handed over as this one.
  std::string text_of_taken(std::size_t number = 0) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return taken.size() > number; });
    std::string text(256, '\0');
    const ssize_t got = ::recv(taken[number], text.data(), text.size(), 0);
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    return text;
  }

  Scratch scratch;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<int> taken;
  std::vector<int> clients;
  Listener listener;
  ConnectionGate gate;
};

TEST(ConnectionGateTimed, HandsOverAllBytesHoweverTheyCome) {
  for (const auto& [protocol, text] :
       {std::pair(Protocol::http2, kOpening), std::pair(Protocol::tls, kRecord)}) {
    Bed bed(kPatient, protocol);
    const int client = bed.connect();
    for (const char byte : text) send_text(client, std::string(1, byte));
    EXPECT_EQ(bed.text_of_taken(), text);
  }
}

TEST(ConnectionGateTimed, ByTcpToo) {
  const Listener listener = Listener::at_address("127.0.0.1:0");
  Bed bed(kPatient);
  const ConnectionGate gate(
      {{listener.sockets(), Protocol::tls, [&](int, int connection) { bed.take(connection); }}},
      kPatient);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<in_port_t>(listener.port()));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int client = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  bed.clients.push_back(client);
  ASSERT_EQ(::connect(client, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  send_text(client, kRecord.substr(0, 6));
  send_text(client, kRecord.substr(6));
  EXPECT_EQ(bed.text_of_taken(), kRecord);
}

TEST(ConnectionGateTimed, SilentAndSlowConnectionsEnd) {
  Bed bed({.opening = Duration::ms(1)});
  const int silent = bed.connect();
  const int slow = bed.connect();
  ::send(slow, kOpening.data(), 3, MSG_NOSIGNAL);  // fails where it was closed already
  EXPECT_TRUE(testbed::closes(silent));
  EXPECT_TRUE(testbed::closes(slow));
  EXPECT_TRUE(bed.taken.empty());
}

TEST(ConnectionGateTimed, WhatIsNoOpeningEndsAtOnce) {
  Bed bed(kPatient);
  const int client = bed.connect();
  send_text(client, "GET / HTTP/1.1\r\n");
  EXPECT_TRUE(testbed::closes(client));
}

TEST(ConnectionGateTimed, TheOldestMakesWay) {
  Bed bed({.pending = 2, .opening = kPatient.opening});
  const int first = bed.connect();
  const int second = bed.connect();
  const int third = bed.connect();
  EXPECT_TRUE(testbed::closes(first));
  send_text(third, kOpening);
  EXPECT_EQ(bed.text_of_taken(), kOpening);
  EXPECT_EQ(::send(second, "P", 1, MSG_NOSIGNAL), 1);
}

// The client's descriptor is there before; the gate has none for its own end of the connection.
TEST(ConnectionGateTimed, TheOldestMakesWayWhereNoDescriptorIsLeft) {
  Bed bed(kPatient);
  const int first = bed.connect();
  send_text(bed.connect(), kOpening);
  EXPECT_EQ(bed.text_of_taken(), kOpening);  // so the first is accepted, too
  const int second = bed.socket();
  const testbed::NoDescriptors none;
  bed.connect(second);
  send_text(second, kOpening);
  EXPECT_TRUE(testbed::closes(first));
  EXPECT_EQ(bed.text_of_taken(1), kOpening);
}

TEST(ConnectionGateTimed, AcceptsAgainWhereADescriptorComesBack) {
  Bed bed(kPatient);
  const int client = bed.socket();
  {
    const testbed::NoDescriptors none;
    bed.connect(client);
    send_text(client, kOpening);
  }
  EXPECT_EQ(bed.text_of_taken(), kOpening);
}

TEST(ConnectionGateTimed, ClosesAllAtItsEnd) {
  auto bed = std::make_unique<Bed>(kPatient);
  const int client = ::dup(bed->connect());
  bed.reset();
  EXPECT_TRUE(testbed::closes(client));
  ::close(client);
}

TEST(ListenerTimed, ItsPathIsTheGroupsAndGoesWithIt) {
  const Scratch scratch;
  const std::string path = scratch.file() + ".sock";
  {
    const Listener listener = Listener::at_path(path);
    struct stat status {};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777u, 0660u);
    // A killed process leaves its socket.
    EXPECT_EQ(Listener::at_path(path).sockets().size(), 1u);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(ListenerTimed, SaysWhyItCannot) {
  const auto error_of = [](const std::string& address) {
    try {
      static_cast<void>(Listener::at_address(address));
    } catch (const std::runtime_error& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  const Listener first = Listener::at_address("127.0.0.1:0");
  const std::string taken = "127.0.0.1:" + std::to_string(first.port());
  EXPECT_EQ(error_of(taken), "cannot listen at " + taken + ": Address already in use");
  EXPECT_EQ(error_of("9402"), "cannot listen at 9402: no address; allowed: HOST:PORT");
  EXPECT_EQ(error_of("192.0.2.1:0"),
            "cannot listen at 192.0.2.1:0: Cannot assign requested address");
  EXPECT_EQ(error_of("localhost:0"), "none");
}

}  // namespace
}  // namespace tributary::manager
