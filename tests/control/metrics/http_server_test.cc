// Requests as scrapers, probes and bad peers send them.
#include "control/metrics/http_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <stdexcept>
#include <vector>

namespace tributary::control {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// An answer that takes longer has failed. Shorter than a silent connection is kept.
int connect_to(int port, int family = AF_INET) {
  const int fd = socket(family, SOCK_STREAM, 0);
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

TEST(HttpServer, AnswersGetAndHead) {
  const HttpServer server("127.0.0.1:0", pages());
  const std::string got = ask(connect_to(server.port()), request("GET", "/metrics"));
  EXPECT_THAT(got, StartsWith("HTTP/1.1 200 OK"));
  EXPECT_THAT(got, EndsWith("\r\n\r\nup 1\n"));
  const std::string head = ask(connect_to(server.port()), request("HEAD", "/metrics"));
  EXPECT_THAT(head, StartsWith("HTTP/1.1 200 OK"));
  EXPECT_THAT(head, HasSubstr("Content-Length: 5\r\n"));
  EXPECT_THAT(head, EndsWith("\r\n\r\n")) << "no body";
}

TEST(HttpServer, RefusesWhatItHasNot) {
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

TEST(HttpServer, PagesGetTheQueryAndRefuseIt) {
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
TEST(HttpServer, SilentAndSlowConnectionsKeepNobodyOut) {
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

TEST(HttpServer, ListensOnIpv6) {
  const HttpServer server("[::1]:0", pages());
  EXPECT_THAT(ask(connect_to(server.port(), AF_INET6), request("GET", "/metrics")),
              HasSubstr("200 OK"));
  EXPECT_THAT(failure("[::1]:" + std::to_string(server.port())),
              HasSubstr("cannot bind: Address already in use; another process listens there"));
}

TEST(HttpServer, SaysWhyItCannotListen) {
  const HttpServer server("127.0.0.1:0", pages());
  const std::string taken = "127.0.0.1:" + std::to_string(server.port());
  EXPECT_THAT(failure(taken), StartsWith(taken + ": cannot bind: Address already in use"));
  EXPECT_THAT(failure("192.0.2.1:0"),
              StartsWith("192.0.2.1:0: cannot bind: Cannot assign requested address"));
}

}  // namespace
}  // namespace tributary::control
