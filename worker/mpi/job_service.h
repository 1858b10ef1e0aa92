// Assigns the jobs of one MPI program to communicators whose first ranks are different
// processes.
//
//   rank 0 of MPI_COMM_WORLD: JobService, a thread and a TCP socket; owns the JobBoard
//   first rank of a communicator: JobClient, one connection a question
//
//   take SIZE             → job NUMBER | none WHY
//   left JOB | wrong JOB SIZE | broken JOB → ok
//
// Every question starts with a secret that the ranks got by MPI, so that no other program takes
// jobs. The thread never calls MPI: the answer does not depend on what rank 0 is doing.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "worker/mpi/job_board.h"
#include "worker/transport/file_descriptor.h"

namespace tributary::mpi {

// The address of the service; rank 0 sends these bytes to all ranks.
struct ServiceAddress {
  std::uint32_t ipv4 = 0;  // host order
  std::uint16_t port = 0;
  std::uint64_t secret = 0;
};

class JobService {
 public:
  // Listens on this machine's `ipv4`. Throws std::system_error.
  JobService(std::uint32_t ipv4, const std::vector<std::uint32_t>& jobs);
  ~JobService();
  JobService(const JobService&) = delete;
  JobService& operator=(const JobService&) = delete;
  [[nodiscard]] const ServiceAddress& address() const { return address_; }

 private:
  void run();
  void accept_one();
  void serve(int connection);
  std::string answer(const std::string& question);

  ServiceAddress address_;
  JobBoard board_;
  worker::FileDescriptor listener_;
  worker::FileDescriptor stop_;
  worker::FileDescriptor spare_;  // given up for a rank that asks where no other is left
  std::thread thread_;
};

class JobClient {
 public:
  explicit JobClient(const ServiceAddress& address) : address_(address) {}
  // A job, or why there is none. A service that does not answer counts as having none.
  [[nodiscard]] std::variant<std::uint32_t, std::string> take(std::uint32_t size) const;
  void left(std::uint32_t job) const;
  void wrong_size(std::uint32_t job, std::uint32_t size) const;
  void broken(std::uint32_t job) const;

 private:
  [[nodiscard]] std::string place() const;
  // Sends one line and returns the answer; "" if none comes.
  std::string ask(const std::string& question) const;

  ServiceAddress address_;
};

// This machine's address on the way to the switch of a transport's address; loopback if that is not
// a network address, or there is no route.
std::uint32_t own_address_towards(const std::string& switch_address);

}  // namespace tributary::mpi
