#include "tools/client/control/telemetry_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>

#include "config/text/codec.h"

namespace tributary::client {
namespace {

constexpr time_t kPatienceS = 10;
constexpr std::size_t kMostBytes = std::size_t{64} << 20;

struct Socket {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  Socket() = default;
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket() {
    if (fd >= 0) close(fd);
  }
};

[[noreturn]] void fail(const std::string& address, const std::string& what) {
  throw std::runtime_error("telemetry server " + address + ": " + what);
}
[[noreturn]] void fail_with_errno(const std::string& address) {
  fail(address, std::generic_category().message(errno));
}

sockaddr_in parse(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  sockaddr_in to{};
  to.sin_family = AF_INET;
  const auto port = colon == std::string::npos
                        ? std::nullopt
                        : config::parse_integer(std::string_view(address).substr(colon + 1));
  if (!port || *port < 1 || *port > 65535 ||
      inet_pton(AF_INET, address.substr(0, colon).c_str(), &to.sin_addr) != 1)
    fail(address, "is no address; allowed: IPV4:PORT, such as 127.0.0.1:9476");
  to.sin_port = htons(static_cast<std::uint16_t>(*port));
  return to;
}

std::string read_all(int fd, const std::string& address) {
  std::string answer;
  std::string part(std::size_t{64} << 10, '\0');
  for (;;) {
    const ssize_t got = recv(fd, part.data(), part.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_with_errno(address);
    if (got == 0) return answer;
    answer.append(part, 0, static_cast<std::size_t>(got));
    if (answer.size() > kMostBytes) fail(address, "answers without an end");
  }
}

// HTTP/1.0: the body ends with the connection.
std::string get(const std::string& address, const std::string& page) {
  const sockaddr_in to = parse(address);
  const Socket socket;
  const timeval patience{kPatienceS, 0};
  setsockopt(socket.fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  setsockopt(socket.fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  if (connect(socket.fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0)
    fail_with_errno(address);
  const std::string request = "GET /" + page + " HTTP/1.0\r\nHost: " + address + "\r\n\r\n";
  if (send(socket.fd, request.data(), request.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(request.size()))
    fail_with_errno(address);
  return read_all(socket.fd, address);
}

}  // namespace

Json ask_telemetry_server(const std::string& address, const std::string& page) {
  const std::string answer = get(address, page);
  const std::size_t line = answer.find("\r\n");
  const std::size_t head = answer.find("\r\n\r\n");
  if (!answer.starts_with("HTTP/1.") || head == std::string::npos)
    fail(address, "does not speak HTTP");
  const std::string status = answer.substr(9, line - 9);
  if (!status.starts_with("200"))
    fail(address, "/" + page + ": " + harmless(status) +
                      (page == "paths" ? "; it was started without --topology" : ""));
  Json rows = Json::parse(answer.substr(head + 4), nullptr, false);
  if (rows.is_discarded()) fail(address, "/" + page + " is not JSON");
  return rows;
}

std::string render_paths(const Json& paths) {
  Json rows = Json::array();
  std::string details;
  for (const Json& path : paths) {
    Json row = path;
    row.erase("candidates");
    rows.push_back(row);
    if (!path.contains("candidates")) continue;
    for (const Json& candidate : path["candidates"]) {
      const Json& latency = candidate["latency_us"];
      details += "  " + harmless(candidate["path"].get<std::string>()) + ": " +
                 (latency.is_null() ? "latency unknown" : latency.dump() + " us") + ", " +
                 candidate["free_mbps"].dump() + " Mb/s free, " + candidate["hops"].dump() +
                 " hops\n";
    }
  }
  const std::string table = render_table(rows, "no paths");
  return details.empty() ? table : table + "\ncandidates:\n" + details;
}

}  // namespace tributary::client
