#include "tools/daemon/daemon.h"

#include <sys/resource.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <mutex>
#include <optional>
#include <thread>

#include "core/invariant.h"
#include "tools/daemon/log.h"

namespace tributary::tools {
namespace {

constexpr timespec kLook{0, 200'000'000};

// Half of what the service manager allows, as it recommends; nullopt: it keeps no watchdog.
std::optional<timespec> watchdog_period() {
  std::uint64_t microseconds = 0;
  if (sd_watchdog_enabled(0, &microseconds) <= 0) return std::nullopt;
  const std::uint64_t half = microseconds / 2;
  return timespec{static_cast<time_t>(half / 1'000'000),
                  static_cast<long>(half % 1'000'000 * 1'000)};
}

// A shell allows 1,024 open files, and more clients than that may connect.
void raise_file_limit() {
  constexpr rlim_t kFiles = 65536;  // LimitNOFILE= of the daemons' units
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= kFiles) return;
  limit.rlim_cur = std::min(limit.rlim_max, kFiles);
  setrlimit(RLIMIT_NOFILE, &limit);
}

// A thread that reloads, one at a time: it may have to wait for devices, and signals and the
// watchdog do not.
class Reloader {
 public:
  explicit Reloader(const std::function<void()>& reload) : reload_(reload) {
    if (reload_) thread_ = std::thread([this] { run(); });
  }
  // Waits for the one that is under way.
  ~Reloader() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_one();
    if (thread_.joinable()) thread_.join();
  }
  Reloader(const Reloader&) = delete;
  Reloader& operator=(const Reloader&) = delete;

  // One that is under way may have read the file already: then another one follows it.
  void ask() {
    {
      const std::lock_guard lock(mutex_);
      wanted_ = true;
    }
    changed_.notify_one();
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return stopping_ || wanted_; });
      if (stopping_) return;
      wanted_ = false;
      lock.unlock();
      reload_();
      lock.lock();
    }
  }

  const std::function<void()>& reload_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool wanted_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace

void report(const std::string& line) {
  write_log(LogLevel::notice, line);
}

void report_warning(const std::string& line) {
  write_log(LogLevel::warning, line);
}

void report_end(const std::string& text) {
  for (const std::string& line : lines_of(text)) write_log(LogLevel::error, line);
}

Daemon::Daemon() {
  report_breaches([](const char* what, const char* file, int line) {
    write_log(LogLevel::error, std::string(file) + ":" + std::to_string(line) +
                                   ": broken invariant: " + what +
                                   "; this is a defect, please report it");
  });
  sigemptyset(&signals_);
  for (const int signal : {SIGHUP, SIGINT, SIGTERM}) sigaddset(&signals_, signal);
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  raise_file_limit();
}

void Daemon::announce_ready(int descriptor) {
  std::printf("ready\n");
  std::fflush(stdout);
  if (descriptor >= 0) {
    if (write(descriptor, "ready\n", 6) != 6) report_warning("--ready-fd: cannot write");
    if (descriptor > STDERR_FILENO) close(descriptor);  // the next open() would get its number
  }
  sd_notify(0, "READY=1");
}

bool Daemon::wait(const Care& care) {
  const std::optional<timespec> period = care.is_over ? kLook : watchdog_period();
  std::optional<std::uint64_t> before;
  Reloader reloader(care.reload);
  for (;;) {
    const int signal =
        period ? sigtimedwait(&signals_, nullptr, &*period) : sigwaitinfo(&signals_, nullptr);
    if (signal == SIGHUP) reloader.ask();
    if (signal == SIGINT || signal == SIGTERM) {
      sd_notify(0, "STOPPING=1");
      report(std::string("stopping on ") + strsignal(signal) + "; once more ends at once");
      pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
      return true;
    }
    if (!period) continue;
    if (care.is_over && care.is_over()) return false;
    const std::uint64_t turns = care.turns();
    if (before != turns) sd_notify(0, "WATCHDOG=1");
    before = turns;
  }
}

}  // namespace tributary::tools
