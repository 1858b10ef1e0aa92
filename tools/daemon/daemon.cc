#include "tools/daemon/daemon.h"

#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <ctime>
#include <optional>

namespace tributary::tools {
namespace {

// Half of what the service manager allows, as it recommends; nullopt: it keeps no watchdog.
std::optional<timespec> watchdog_period() {
  std::uint64_t microseconds = 0;
  if (sd_watchdog_enabled(0, &microseconds) <= 0) return std::nullopt;
  const std::uint64_t half = microseconds / 2;
  return timespec{static_cast<time_t>(half / 1'000'000),
                  static_cast<long>(half % 1'000'000 * 1'000)};
}

}  // namespace

void report(const std::string& line) {
  std::fprintf(stderr, "%s\n", line.c_str());
}

Daemon::Daemon() {
  sigemptyset(&signals_);
  for (const int signal : {SIGHUP, SIGINT, SIGTERM}) sigaddset(&signals_, signal);
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

void Daemon::announce_ready(int descriptor) {
  std::printf("ready\n");
  std::fflush(stdout);
  if (descriptor >= 0) {
    if (write(descriptor, "ready\n", 6) != 6) report("--ready-fd: cannot write");
    close(descriptor);
  }
  sd_notify(0, "READY=1");
}

void Daemon::wait(const Care& care) {
  const std::optional<timespec> period = watchdog_period();
  std::optional<std::uint64_t> before;
  for (;;) {
    const int signal =
        period ? sigtimedwait(&signals_, nullptr, &*period) : sigwaitinfo(&signals_, nullptr);
    if (signal == SIGHUP && care.reload) care.reload();
    if (signal == SIGINT || signal == SIGTERM) {
      sd_notify(0, "STOPPING=1");
      report(std::string("stopping on ") + strsignal(signal) + "; once more ends at once");
      pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
      return;
    }
    if (!period) continue;
    const std::uint64_t turns = care.turns();
    if (before != turns) sd_notify(0, "WATCHDOG=1");
    before = turns;
  }
}

}  // namespace tributary::tools
