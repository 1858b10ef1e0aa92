// Common duties of every daemon: signals, saying that it is ready, and the service manager's
// watchdog (sd_notify(3), sd_watchdog_enabled(3)).
//
//   Daemon ─▶ threads of the daemon ─▶ announce_ready() ─▶ wait() ─▶ the daemon stops its threads
//
// The first SIGINT or SIGTERM ends wait(); from then on a second one ends the process at once.
//
// Made and used on the main thread, before any other thread begins.
#pragma once

#include <csignal>
#include <cstdint>
#include <functional>
#include <string>

namespace tributary::tools {

// To the log (tools/daemon/log.h): a line of level notice; one of level warning; and each line of
// what ends the program, of level error, which no --log-level leaves out.
void report(const std::string& line);
void report_warning(const std::string& line);
void report_end(const std::string& text);

class Daemon {
 public:
  // Blocks the signals in this thread, and so in all that begin later; ignores SIGPIPE; raises the
  // limit of open files to 65,536 or what the service manager allows.
  Daemon();

  // Tells the process that started the daemon that it serves: "ready" on standard output and on
  // `descriptor`, which is closed (-1: none), and READY=1 to the service manager.
  void announce_ready(int descriptor);

  struct Care {
    // On SIGHUP, on a thread of its own: it may take its time, and the watchdog is fed meanwhile.
    // Once for all that come while it is under way. Empty: it is ignored. Must not throw.
    std::function<void()> reload;
    // A number that changes as long as the daemon does its work; while it stands still the watchdog
    // is not fed. Any thread's to read.
    std::function<std::uint64_t()> turns;
    // Asked a few times a second; true ends wait(), and the daemon goes on. Empty: never.
    std::function<bool()> is_over = {};
  };
  // Until the daemon is to stop; says so, and waits for a reload that is under way. False:
  // is_over() has ended it.
  bool wait(const Care& care);

 private:
  sigset_t signals_;
};

}  // namespace tributary::tools
