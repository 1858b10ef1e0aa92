#include "worker/mpi/job_service.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <random>
#include <sstream>
#include <system_error>

namespace tributary::mpi {
namespace {

constexpr int kPatienceSeconds = 10;  // seconds to wait for the other end of a connection
constexpr int kPauseMs = 100;
constexpr std::size_t kLongestLine = 512;
constexpr std::uint32_t kLoopback = 0x7F000001;
constexpr std::uint16_t kAnyPort = 9;  // no packet is sent to it

sockaddr_in socket_address(std::uint32_t ipv4, std::uint16_t port) {
  sockaddr_in a{};
  a.sin_family = AF_INET;
  a.sin_port = htons(port);
  a.sin_addr.s_addr = htonl(ipv4);
  return a;
}

const sockaddr* generic(const sockaddr_in& a) {
  return reinterpret_cast<const sockaddr*>(&a);
}

void limit_patience(int socket) {
  const timeval patience{kPatienceSeconds, 0};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
}

// Reads up to the newline; "" if no line comes.
std::string read_line(int socket) {
  std::string line;
  std::array<char, kLongestLine> room{};
  while (line.size() < kLongestLine) {
    const ssize_t got = ::recv(socket, room.data(), room.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return {};
    line.append(room.data(), static_cast<std::size_t>(got));
    if (line.back() == '\n') {
      line.pop_back();
      return line;
    }
  }
  return {};
}

void write_line(int socket, std::string line) {
  line += '\n';
  std::size_t done = 0;
  while (done < line.size()) {
    const ssize_t sent = ::send(socket, line.data() + done, line.size() - done, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return;
    done += static_cast<std::size_t>(sent);
  }
}

worker::FileDescriptor open_spare() {
  return worker::FileDescriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
}

std::uint64_t random_secret() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

}  // namespace

JobService::JobService(std::uint32_t ipv4, const std::vector<std::uint32_t>& jobs)
    : board_(jobs),
      listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
      stop_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      spare_(open_spare()) {
  sockaddr_in own = socket_address(ipv4, 0);
  socklen_t length = sizeof own;
  if (!listener_ || !stop_ || ::bind(listener_.get(), generic(own), sizeof own) != 0 ||
      ::listen(listener_.get(), SOMAXCONN) != 0 ||
      ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&own), &length) != 0)
    throw std::system_error(errno, std::generic_category(), "job list: no listening socket");
  address_ = {ipv4, ntohs(own.sin_port), random_secret()};
  thread_ = std::thread([this] { run(); });
}

JobService::~JobService() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto n = ::write(stop_.get(), &one, sizeof one);
  thread_.join();
}

void JobService::run() {
  while (true) {
    std::array<pollfd, 2> fds = {{{listener_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}}};
    if (::poll(fds.data(), fds.size(), -1) < 0 && errno != EINTR) return;
    if (fds[1].revents != 0) return;
    if (fds[0].revents != 0) accept_one();
    if (!spare_) spare_ = open_spare();
  }
}

// Where no descriptor is left, the spare one serves the rank; without it the listener stays ready.
void JobService::accept_one() {
  worker::FileDescriptor connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!connection && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)) {
    spare_ = worker::FileDescriptor();
    connection = worker::FileDescriptor(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    pollfd stop{stop_.get(), POLLIN, 0};
    if (!connection) ::poll(&stop, 1, kPauseMs);
  }
  if (connection) serve(connection.get());
}

void JobService::serve(int connection) {
  limit_patience(connection);
  write_line(connection, answer(read_line(connection)));
}

std::string JobService::answer(const std::string& question) {
  std::istringstream words(question);
  std::uint64_t secret = 0;
  std::string verb;
  std::uint32_t first = 0;
  if (!(words >> secret >> verb >> first) || secret != address_.secret)
    return "none not asked well";
  if (verb == "take") {
    const auto job = board_.take(first);
    return job ? "job " + std::to_string(*job) : "none " + board_.why_none(first);
  }
  std::uint32_t size = 0;
  if (verb == "left") board_.left(first);
  if (verb == "broken") board_.broken(first);
  if (verb == "wrong" && words >> size) board_.wrong_size(first, size);
  return "ok";
}

std::variant<std::uint32_t, std::string> JobClient::take(std::uint32_t size) const {
  const std::string reply = ask("take " + std::to_string(size));
  if (reply.starts_with("job ")) return static_cast<std::uint32_t>(std::stoul(reply.substr(4)));
  if (reply.starts_with("none ")) return reply.substr(5);
  return "rank 0 of MPI_COMM_WORLD does not answer at " + place();
}

void JobClient::left(std::uint32_t job) const {
  ask("left " + std::to_string(job));
}

void JobClient::wrong_size(std::uint32_t job, std::uint32_t size) const {
  ask("wrong " + std::to_string(job) + " " + std::to_string(size));
}

void JobClient::broken(std::uint32_t job) const {
  ask("broken " + std::to_string(job));
}

std::string JobClient::place() const {
  const in_addr ip{htonl(address_.ipv4)};
  std::array<char, INET_ADDRSTRLEN> text{};
  ::inet_ntop(AF_INET, &ip, text.data(), text.size());
  return std::string(text.data()) + ":" + std::to_string(address_.port);
}

std::string JobClient::ask(const std::string& question) const {
  const worker::FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return {};
  limit_patience(socket.get());
  const sockaddr_in to = socket_address(address_.ipv4, address_.port);
  if (::connect(socket.get(), generic(to), sizeof to) != 0) return {};
  write_line(socket.get(), std::to_string(address_.secret) + " " + question);
  return read_line(socket.get());
}

// A connected UDP socket knows its own address; no packet is sent.
std::uint32_t own_address_towards(const std::string& switch_address) {
  constexpr std::string_view kUdp = "udp://";
  if (!switch_address.starts_with(kUdp)) return kLoopback;
  const std::string host =
      switch_address.substr(kUdp.size(), switch_address.find(':', kUdp.size()) - kUdp.size());
  in_addr ip{};
  if (::inet_pton(AF_INET, host.c_str(), &ip) != 1) return kLoopback;
  const worker::FileDescriptor probe(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const sockaddr_in to = socket_address(ntohl(ip.s_addr), kAnyPort);
  sockaddr_in own{};
  socklen_t length = sizeof own;
  if (!probe || ::connect(probe.get(), generic(to), sizeof to) != 0 ||
      ::getsockname(probe.get(), reinterpret_cast<sockaddr*>(&own), &length) != 0)
    return kLoopback;
  return ntohl(own.sin_addr.s_addr);
}

}  // namespace tributary::mpi
