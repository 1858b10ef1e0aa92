// `tributary run --job NAME -- PROGRAM`: starts the ranks of a manager's job that belong to this
// node, once every switch has the job, each with the variables that tributary.init() reads.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <iostream>
#include <memory>
#include <string_view>
#include <system_error>

#include "config/text/file.h"
#include "tools/client/commands.h"
#include "tools/client/manager/manager_library.h"
#include "tools/client/manager/manager_options.h"

namespace tributary::client {
namespace {

struct RunCommand : ManagerOptions {
  std::string job;
  std::string submit;
  std::vector<std::string> workers;
  std::vector<std::string> program;
  double timeout_s = 600;
};

struct Rank {
  std::uint32_t rank = 0;
  std::string address;
};

std::string host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

Json wait_for_job(const RunCommand& options) {
  const std::string request = options.submit.empty() ? "" : config::read_file(options.submit);
  return wait_until_running(options.target, {options.job, request, options.submit},
                            options.timeout_s);
}

std::vector<Rank> own_ranks(const Json& job, const std::vector<std::string>& workers) {
  std::vector<Rank> ranks;
  std::string all;
  for (const Json& member : job["members"]) {
    const auto worker = member["worker"].get<std::string>();
    all += (all.empty() ? "" : ", ") + worker;
    for (const std::string& own : workers)
      if (own == worker)
        ranks.push_back(
            {member["rank"].get<std::uint32_t>(), member["address"].get<std::string>()});
  }
  if (ranks.empty())
    throw std::runtime_error("no rank of the job runs here: its workers are " + harmless(all) +
                             "; name this node's with --worker");
  return ranks;
}

// Arguments and environment of a rank's process. Made before the fork: gRPC has threads, so after
// it no more than exec is safe.
struct Start {
  Start(const RunCommand& options, const Json& job, const Rank& rank, std::size_t local,
        std::size_t locals)
      : words(options.program),
        variables({"TRIBUTARY_JOB=" + job["id"].dump(), "TRIBUTARY_ADDRESS=" + rank.address,
                   "RANK=" + std::to_string(rank.rank), "WORLD_SIZE=" + job["workers"].dump(),
                   "LOCAL_RANK=" + std::to_string(local),
                   "LOCAL_WORLD_SIZE=" + std::to_string(locals)}) {
    const auto is_set = [this](std::string_view name) {
      return std::any_of(variables.begin(), variables.end(),
                         [&](const std::string& own) { return own.starts_with(name); });
    };
    for (char** variable = environ; *variable != nullptr; ++variable) {
      const std::string_view text = *variable;
      if (!is_set(text.substr(0, text.find('=') + 1))) envp.push_back(*variable);
    }
    for (std::string& variable : variables) envp.push_back(variable.data());
    envp.push_back(nullptr);
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
  }
  Start(const Start&) = delete;
  Start& operator=(const Start&) = delete;

  std::vector<std::string> words;
  std::vector<std::string> variables;
  std::vector<char*> argv;
  std::vector<char*> envp;
};

[[noreturn]] void fail(const std::string& program, int error) {
  throw std::runtime_error(program + ": " + std::generic_category().message(error));
}

pid_t spawn(Start& start) {
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigset_t ending;
  sigemptyset(&none);
  sigemptyset(&ending);
  for (const int signal : {SIGINT, SIGTERM, SIGPIPE}) sigaddset(&ending, signal);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &ending);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t child = 0;
  const int error = posix_spawnp(&child, start.argv[0], nullptr, &attributes, start.argv.data(),
                                 start.envp.data());
  posix_spawnattr_destroy(&attributes);
  if (error != 0) fail(start.words[0], error);
  return child;
}

int status_of(int waited) {
  return WIFEXITED(waited) ? WEXITSTATUS(waited) : 128 + WTERMSIG(waited);
}

// The first failure ends the others: their ops would wait for it until they time out.
int run_all(const RunCommand& options, const Json& job, const std::vector<Rank>& ranks) {
  std::vector<pid_t> children;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    Start start(options, job, ranks[i], i, ranks.size());
    children.push_back(spawn(start));
  }
  int failed = 0;
  for (std::size_t left = children.size(); left > 0;) {
    int waited = 0;
    const pid_t ended = ::waitpid(-1, &waited, 0);
    if (ended < 0 && errno == EINTR) continue;
    if (ended < 0) break;
    std::erase(children, ended);
    --left;
    if (status_of(waited) == 0 || failed != 0) continue;
    failed = status_of(waited);
    for (const pid_t other : children) ::kill(other, SIGTERM);
  }
  return failed;
}

void run(const RunCommand& options, int& exit_status) {
  const Json job = wait_for_job(options);
  const auto workers =
      options.workers.empty() ? std::vector<std::string>{host_name()} : options.workers;
  const auto ranks = own_ranks(job, workers);
  std::cout.flush();
  if (ranks.size() == 1) {
    Start start(options, job, ranks[0], 0, 1);
    ::execvpe(start.argv[0], start.argv.data(), start.envp.data());
    fail(start.words[0], errno);
  }
  exit_status = run_all(options, job, ranks);
}

}  // namespace

void add_run(cli::App& app, const PassedWords& behind, int& exit_status) {
  cli::App* const command =
      app.add_subcommand("run", "Start this node's ranks of a job that a manager places");
  const auto options = std::make_shared<RunCommand>();
  add_manager_options(*command, *options);
  command->add_option("--job", options->job, "Its name")->required();
  command->add_option("--submit", options->submit, "Ask for it first, unless another node has")
      ->type_name("FILE");
  command
      ->add_option("--worker", options->workers,
                   "This node's name in the topology; default: the host's; may be repeated")
      ->allow_extra_args(false)
      ->type_name("NAME");
  command->add_option("--timeout", options->timeout_s, "Until the job runs, in seconds")
      ->check(cli::range(0.001, 1e6))
      ->type_name("SECONDS")
      ->capture_default_str();
  command->add_option("PROGRAM", options->program, "And its arguments, behind --");
  command->callback([behind, options, &exit_status] {
    if (behind) options->program.insert(options->program.end(), behind->begin(), behind->end());
    if (options->program.empty())
      throw cli::UsageError("run: PROGRAM is required; it stands behind --");
    run(*options, exit_status);
  });
  command->footer(
      "Each rank gets TRIBUTARY_JOB, TRIBUTARY_ADDRESS, RANK, WORLD_SIZE, LOCAL_RANK and\n"
      "LOCAL_WORLD_SIZE.\n"
      "Example:\n"
      "  tributary run --job resnet --submit resnet.yaml -- python3 train.py");
}

}  // namespace tributary::client
