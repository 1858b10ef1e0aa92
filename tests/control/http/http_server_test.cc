// Requests as scrapers, probes and bad peers send them.
#include "control/http/http_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/testbed/no_descriptors.h"

namespace tributary::control {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// An answer that takes longer has failed. Shorter than a silent connection is kept.
void connect_there(int fd, int port, int family = AF_INET) {
  const timeval patience{4, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  if (family == AF_INET) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  } else {
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(static_cast<std::uint16_t>(port));
    address.sin6_addr = in6addr_loopback;
    EXPECT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
}

int connect_to(int port, int family = AF_INET) {
  const int fd = socket(family, SOCK_STREAM, 0);
  connect_there(fd, port, family);
  return fd;
}

std::string ask(int fd, const std::string& request) {
  std::string out;
  if (send(fd, request.data(), request.size(), MSG_NOSIGNAL) > 0) {
    std::array<char, 4096> piece;
    ssize_t got = 0;
    while ((got = recv(fd, piece.data(), piece.size(), 0)) > 0)
      out.append(piece.data(), static_cast<std::size_t>(got));
  }
  close(fd);
  return out;
}

std::string request(const std::string& method, const std::string& path) {
  return method + ' ' + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
}

HttpServer::Pages pages() {
  return {{"/metrics",
           [](const HttpQuery&) {
             return HttpPage{200, "text/plain", "up 1\n"};
           }},
          {"/broken", [](const HttpQuery&) -> HttpPage { throw std::runtime_error("no answer"); }},
          {"/echo", [](const HttpQuery& query) {
             std::string text;
             for (const auto& [name, value] : query) text += name + '=' + value + ';';
             if (text.empty()) throw std::invalid_argument("allowed: ?name=value");
             return HttpPage{200, "text/plain", text};
           }}};
}

std::string failure(const std::string& listen) {
  try {
    const HttpServer server(listen, pages());
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "none";
}

TEST(HttpServerTimed, AnswersGetAndHead) {
  const HttpServer server("127.0.0.1:0", pages());
  const std::string got = ask(connect_to(server.port()), request("GET", "/metrics"));
  EXPECT_THAT(got, StartsWith("HTTP/1.1 200 OK"));
  EXPECT_THAT(got, EndsWith("\r\n\r\nup 1\n"));
  const std::string head = ask(connect_to(server.port()), request("HEAD", "/metrics"));
  EXPECT_THAT(head, StartsWith("HTTP/1.1 200 OK"));
  EXPECT_THAT(head, HasSubstr("Content-Length: 5\r\n"));
  EXPECT_THAT(head, EndsWith("\r\n\r\n")) << "no body";
}

TEST(HttpServerTimed, RefusesWhatItHasNot) {
  const HttpServer server("127.0.0.1:0", pages());
  const auto say = [&](const std::string& text) { return ask(connect_to(server.port()), text); };
  const std::string lost = say(request("GET", "/"));
  EXPECT_THAT(lost, StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(lost, HasSubstr("there are: /broken /echo /metrics"));
  const std::string post =
      say("POST /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
          "Content-Length: 3\r\n\r\nabc");
  EXPECT_THAT(post, StartsWith("HTTP/1.1 405"));
  EXPECT_THAT(post, HasSubstr("Allow: GET, HEAD"));
  const std::string broken = say(request("GET", "/broken"));
  EXPECT_THAT(broken, StartsWith("HTTP/1.1 500"));
  EXPECT_THAT(broken, EndsWith("no answer"));
  EXPECT_THAT(say("nonsense\r\n\r\n"), Not(HasSubstr("200 OK")));
}

TEST(HttpServerTimed, PagesGetTheQueryAndRefuseIt) {
  const HttpServer server("127.0.0.1:0", pages());
  const auto get = [&](const std::string& path) {
    return ask(connect_to(server.port()), request("GET", path));
  };
  EXPECT_THAT(get("/echo?from=-60&name=a%20%26b&bare&from=7"),
              EndsWith("\r\n\r\nbare=;from=7;name=a &b;"));
  const std::string refused = get("/echo");
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(refused, EndsWith("allowed: ?name=value"));
}

// Each would hold a thread, were there one for each.
TEST(HttpServerTimed, SilentAndSlowConnectionsKeepNobodyOut) {
  const HttpServer server("127.0.0.1:0", pages());
  std::vector<int> idle;
  for (int i = 0; i < 60; ++i) {
    idle.push_back(connect_to(server.port()));
    if (i % 2 == 0) {
      EXPECT_EQ(send(idle.back(), "GET /met", 8, MSG_NOSIGNAL), 8);
    }
  }
  EXPECT_THAT(ask(connect_to(server.port()), request("GET", "/metrics")), HasSubstr("200 OK"));
  for (const int fd : idle) close(fd);
}

// All are of one address: they locked the machine's own scraper out.
TEST(HttpServerTimed, ANewcomerReplacesTheOldestSilentConnection) {
  const HttpServer server("127.0.0.1:0", pages());
  std::vector<int> idle;
  for (int i = 0; i < 600; ++i) {
    idle.push_back(connect_to(server.port()));
    if (i % 2 == 0) {
      EXPECT_EQ(send(idle.back(), "GET /met", 8, MSG_NOSIGNAL), 8);
    }
  }
  EXPECT_THAT(ask(connect_to(server.port()), request("GET", "/metrics")), HasSubstr("200 OK"));
  EXPECT_TRUE(testbed::closes(idle.front()));
  for (const int fd : idle) close(fd);
}

TEST(HttpServerTimed, BytesNowAndThenKeepNoConnection) {
  const HttpServer server("127.0.0.1:0", pages(), {256, Duration::ms(300), Duration::ms(300)});
  const int fd = connect_to(server.port());
  const std::string head = "GET /metrics HTTP/1.1\r\nX-Long: ";
  EXPECT_EQ(send(fd, head.data(), head.size(), MSG_NOSIGNAL), static_cast<ssize_t>(head.size()));
  const timeval pause{0, 20'000};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &pause, sizeof pause);
  char byte = 0;
  bool open = true;
  // Far less than the longest head that is taken.
  for (int i = 0; open && i < 1000; ++i) {
    open = send(fd, "x", 1, MSG_NOSIGNAL) == 1;
    const ssize_t got = recv(fd, &byte, 1, 0);
    open = open && got < 0 && errno == EAGAIN;
  }
  EXPECT_FALSE(open);
  close(fd);
}

// The answer is longer than what the sockets hold.
TEST(HttpServerTimed, AClientThatTakesNoAnswerIsClosed) {
  std::atomic<int> made = 0;
  const HttpServer server("127.0.0.1:0",
                          {{"/long",
                            [&made](const HttpQuery&) {
                              ++made;
                              return HttpPage{200, "text/plain", std::string(16 << 20, 'x')};
                            }},
                           {"/short",
                            [](const HttpQuery&) {
                              return HttpPage{200, "text/plain", "x"};
                            }}},
                          {1, Duration::seconds(60), Duration::seconds(60)});
  const int greedy = connect_to(server.port());
  const std::string wish = request("GET", "/long");
  EXPECT_EQ(send(greedy, wish.data(), wish.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(wish.size()));
  while (made == 0) std::this_thread::yield();
  EXPECT_THAT(ask(connect_to(server.port()), request("GET", "/short")), HasSubstr("200 OK"))
      << "the only place is its";
  close(greedy);
}

TEST(HttpServerTimed, ServesWhereNoDescriptorIsLeft) {
  const HttpServer server("127.0.0.1:0", pages());
  std::array<int, 2> spare = {connect_to(server.port()), connect_to(server.port())};
  // Both are accepted when a third one is answered.
  EXPECT_THAT(ask(connect_to(server.port()), request("GET", "/metrics")), HasSubstr("200 OK"));
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  {
    const testbed::NoDescriptors none;
    connect_there(fd, server.port());
    EXPECT_THAT(ask(fd, request("GET", "/metrics")), HasSubstr("200 OK"));
  }
  for (const int silent : spare) close(silent);
}

TEST(HttpServerTimed, ListensOnIpv6) {
  const HttpServer server("[::1]:0", pages());
  EXPECT_THAT(ask(connect_to(server.port(), AF_INET6), request("GET", "/metrics")),
              HasSubstr("200 OK"));
  EXPECT_THAT(failure("[::1]:" + std::to_string(server.port())),
              HasSubstr("cannot bind: Address already in use; another process listens there"));
}

TEST(HttpServerTimed, SaysWhyItCannotListen) {
  const HttpServer server("127.0.0.1:0", pages());
  const std::string taken = "127.0.0.1:" + std::to_string(server.port());
  EXPECT_THAT(failure(taken), StartsWith(taken + ": cannot bind: Address already in use"));
  EXPECT_THAT(failure("192.0.2.1:0"),
              StartsWith("192.0.2.1:0: cannot bind: Cannot assign requested address"));
}

}  // namespace
}  // namespace tributary::control
