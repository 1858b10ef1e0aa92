#include "manager/api/wait.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

namespace tributary::manager {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kPause{100};

Duration left(Clock::time_point end) {
  const auto time = std::chrono::duration_cast<std::chrono::nanoseconds>(end - Clock::now());
  return Duration::ns(std::max<std::int64_t>(time.count(), 1));
}

// False: it is not known whether the job is there.
bool submit(Client& client, const Wanted& wanted, Clock::time_point end) {
  const nlohmann::json request = {{"request", wanted.request}, {"file_name", wanted.file_name}};
  try {
    static_cast<void>(client.call("Jobs.Submit", request.dump(), left(end)));
    return true;
  } catch (const ManagerError& error) {
    // Another rank of the job was faster, or the manager had decided before it went away. One that
    // had not is asked again by the caller.
    if (error.code() == "UNKNOWN") return false;
    if (error.code() != "ALREADY_EXISTS") throw;
    return true;
  }
}

}  // namespace

std::string wait_until_running(Client& client, const Wanted& wanted, Duration timeout) {
  const auto end = Clock::now() + std::chrono::nanoseconds(timeout.to_ns());
  while (!wanted.request.empty() && !submit(client, wanted, end) && Clock::now() < end) {
  }
  for (;;) {
    std::string job;
    try {
      client.watch(
          wanted.job,
          [&job](const std::string& reply) {
            job = reply;
            return nlohmann::json::parse(reply)["state"] != "RUNNING";
          },
          left(end));
      return job;
    } catch (const ManagerError& error) {
      if (error.code() == "DEADLINE_EXCEEDED" && !job.empty()) {
        const auto last = nlohmann::json::parse(job);
        throw ManagerError(error.code(), "job " + wanted.job + " does not run yet: waits for " +
                                             last["waits_for"].get<std::string>());
      }
      if (error.code() != "NOT_FOUND") throw;
      if (Clock::now() + kPause > end) throw ManagerError("DEADLINE_EXCEEDED", error.what());
    }
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace tributary::manager
