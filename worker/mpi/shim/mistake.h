// Mistakes that one rank alone may make in a call, and that no other rank can see: where its
// buffers are, and what else MPI lets ranks do differently.
//
// Such a mistake never changes the route of a call (route.h): the rank takes part in the op with
// zeros, and the vote that goes with every op tells the others (call.h). MPI's error class is the
// one that MPI itself gives.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace tributary::mpi {

struct Call;

// The number of a mistake travels in votes: the largest of all ranks counts.
enum class Mistake : std::uint8_t {
  none = 0,
  null_buffer = 1,
  overlap = 2,
  in_place = 3,
  count = 4,
  type = 5,
  in_use = 6,
  unreadable = 7,
  no_memory = 8,
};
inline constexpr std::int64_t kMistakeMax = 8;

// The mistake in words, with "its" for the rank that made it: "its send and receive buffers
// overlap".
const char* text_of(Mistake mistake);
// MPI_ERR_BUFFER and the like.
int class_of(Mistake mistake);

class LocalError : public std::runtime_error {
 public:
  explicit LocalError(Mistake mistake, const std::string& more = {});
  [[nodiscard]] Mistake mistake() const { return mistake_; }

 private:
  Mistake mistake_;
};

// Throws LocalError if this rank's arguments cannot be used. Reads no buffer.
void check_own_arguments(const Call& call, std::uint32_t rank, std::uint32_t size);

}  // namespace tributary::mpi
