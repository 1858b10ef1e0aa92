// Assigns the jobs of the list to communicators. Pure; only rank 0 of MPI_COMM_WORLD has one.
//
//   free ──take()──▶ taken by `size` ranks ──left() by each of them──▶ free
//                          │
//                          └──refuse()──▶ free for other sizes, or for no one
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tributary::mpi {

class JobBoard {
 public:
  explicit JobBoard(const std::vector<std::uint32_t>& jobs);

  // Takes a free job for a group of `size` ranks, the first in the list; nullopt if none is left.
  std::optional<std::uint32_t> take(std::uint32_t size);
  // Explains why take() found none.
  [[nodiscard]] std::string why_none(std::uint32_t size) const;
  // One of the ranks has closed its communicator.
  void left(std::uint32_t job);
  // The switch refuses the job to groups of this size: it is free for others.
  void wrong_size(std::uint32_t job, std::uint32_t size);
  // The job could not be joined: it is not tried again.
  void broken(std::uint32_t job);

 private:
  struct Entry {
    std::uint32_t job = 0;
    std::uint32_t users = 0;  // ranks that have not left
    bool broken = false;
    std::set<std::uint32_t> wrong_sizes;
  };
  Entry* find(std::uint32_t job);

  std::vector<Entry> entries_;
};

}  // namespace tributary::mpi
