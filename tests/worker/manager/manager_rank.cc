// A rank whose place a manager says, through the C++ and so the C interface:
//
//   manager_rank MANAGER JOB WORKER [REQUEST]
//
// Sums 1,000 integers over all ranks and checks them. Prints "rank R of N". Exit status 1: what
// failed is on stderr.
#include <cstdint>
#include <cstdio>
#include <vector>

#include "worker/api/tributary.hpp"

int main(int count, char** words) {
  if (count < 4 || count > 5) return 2;
  try {
    tributary::Options options;
    options.manager = words[1];
    options.job_name = words[2];
    options.worker = words[3];
    if (count == 5) options.request = words[4];
    options.join_timeout = std::chrono::seconds(50);
    tributary::Communicator communicator(options);
    std::vector<std::int32_t> values(1000, static_cast<std::int32_t>(communicator.rank() + 1));
    communicator.allreduce(values).wait();
    const auto size = static_cast<std::int32_t>(communicator.size());
    for (const std::int32_t value : values)
      if (value != size * (size + 1) / 2) {
        std::fprintf(stderr, "a sum is %d, not that of %d ranks\n", value, size);
        return 1;
      }
    std::printf("rank %u of %u\n", communicator.rank(), communicator.size());
    return 0;
  } catch (const tributary::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
