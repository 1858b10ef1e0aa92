#include "tools/client/mpi/child.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <stdexcept>
#include <system_error>

namespace tributary::client {
namespace {

constexpr int kNotStarted = 127;

// Written before the handlers are installed; they read it.
std::atomic<pid_t> child_of_handlers = 0;

void pass_on(int signal, siginfo_t* info, void*) {
  const bool from_terminal = info->si_code == SI_KERNEL;
  if (signal != SIGINT || !from_terminal) ::kill(child_of_handlers.load(), signal);
}

struct Pipe {
  int read_end = -1;
  int write_end = -1;

  Pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0)
      throw std::system_error(errno, std::generic_category(), "pipe");
    read_end = ends[0];
    write_end = ends[1];
  }
  ~Pipe() {
    ::close(read_end);
    close_write();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  void close_write() {
    if (write_end >= 0) ::close(write_end);
    write_end = -1;
  }
};

struct Actions {
  posix_spawn_file_actions_t value{};
  Actions() { posix_spawn_file_actions_init(&value); }
  ~Actions() { posix_spawn_file_actions_destroy(&value); }
  Actions(const Actions&) = delete;
  Actions& operator=(const Actions&) = delete;
};

std::vector<char*> pointers_of(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

// 0 or the error.
int spawn(std::vector<std::string> words, std::vector<std::string> variables,
          const Actions& actions, pid_t& child) {
  const std::vector<std::string> own = variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string text = *variable;
    const std::string name = text.substr(0, text.find('=') + 1);
    bool replaced = false;
    for (const std::string& other : own) replaced = replaced || other.starts_with(name);
    if (!replaced) variables.push_back(text);
  }
  auto argv = pointers_of(words);
  auto envp = pointers_of(variables);
  return ::posix_spawnp(&child, argv[0], &actions.value, nullptr, argv.data(), envp.data());
}

void read_all(int descriptor, const std::function<void(std::string_view)>& each) {
  std::array<char, 16384> bytes{};
  while (true) {
    const ssize_t n = ::read(descriptor, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    each({bytes.data(), static_cast<std::size_t>(n)});
  }
}

int status_after(pid_t child) {
  int waited = 0;
  while (::waitpid(child, &waited, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(waited) ? WEXITSTATUS(waited) : 128 + WTERMSIG(waited);
}

// Passes signals on as long as it lives.
class SignalRelay {
 public:
  explicit SignalRelay(pid_t child) {
    child_of_handlers = child;
    struct sigaction action {};
    action.sa_sigaction = pass_on;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    for (std::size_t i = 0; i < kSignals.size(); ++i)
      ::sigaction(kSignals[i], &action, &before_[i]);
  }
  ~SignalRelay() {
    for (std::size_t i = 0; i < kSignals.size(); ++i)
      ::sigaction(kSignals[i], &before_[i], nullptr);
  }
  SignalRelay(const SignalRelay&) = delete;
  SignalRelay& operator=(const SignalRelay&) = delete;

 private:
  static constexpr std::array<int, 3> kSignals = {SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, 3> before_{};
};

}  // namespace

Captured capture(const std::vector<std::string>& words) {
  Pipe pipe;
  Actions actions;
  posix_spawn_file_actions_addopen(&actions.value, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  for (const int output : {STDOUT_FILENO, STDERR_FILENO})
    posix_spawn_file_actions_adddup2(&actions.value, pipe.write_end, output);
  pid_t child = 0;
  if (const int error = spawn(words, {}, actions, child))
    return {kNotStarted, std::generic_category().message(error)};
  pipe.close_write();
  Captured result;
  read_all(pipe.read_end, [&](std::string_view bytes) { result.output += bytes; });
  result.status = status_after(child);
  return result;
}

int run_relayed(const std::vector<std::string>& words, const std::vector<std::string>& variables,
                const std::function<void(std::string_view)>& on_error_output) {
  Pipe pipe;
  Actions actions;
  posix_spawn_file_actions_adddup2(&actions.value, pipe.write_end, STDERR_FILENO);
  pid_t child = 0;
  if (const int error = spawn(words, variables, actions, child))
    throw std::runtime_error(words[0] + ": " + std::generic_category().message(error));
  const SignalRelay relay(child);
  pipe.close_write();
  read_all(pipe.read_end, on_error_output);
  return status_after(child);
}

}  // namespace tributary::client
