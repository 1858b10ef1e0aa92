// `tributary show`: what a running switch says about itself.
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "config/text/codec.h"
#include "tools/client/commands.h"
#include "tools/client/control/control_client.h"
#include "tools/client/control/rates.h"
#include "tools/client/control/table.h"
#include "tools/program/standard_output.h"

namespace tributary::client {
namespace {

struct ShowOptions {
  std::string what;
  // Of `op`: JOB/OP; of `stragglers` and `holds`: a job, or none; of `fdb`: vlan=N, port=NAME.
  std::vector<std::string> which;
  std::string socket = kDefaultSocket;
  bool json = false;
  Duration every;           // none: once
  std::uint64_t times = 0;  // 0: until a signal
};

constexpr Duration kShortestEvery = Duration::ms(100);
constexpr Duration kLongestEvery = Duration::seconds(3600);

std::string subject(const ShowOptions& options) {
  std::string what = options.what;
  for (const std::string& word : options.which) what += ' ' + word;
  return what;
}

Reply ask(const ShowOptions& options) {
  return ask_with_notes(options.socket, Json{{"command", "show"}, {"what", subject(options)}});
}

void print(const ShowOptions& options, const Json& data) {
  const bool is_table = options.what != "config";
  if (options.json || (!is_table && !data.is_string()))
    std::cout << data.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
  else if (is_table)
    std::cout << render_table(data, options.what == "fdb" ? "no addresses" : "no " + options.what);
  else
    std::cout << data.get<std::string>();
}

// Beside the rows, which may go to a program.
void print_notes(const Reply& reply) {
  tools::check_output();
  for (const std::string& note : reply.notes) std::cerr << "note: " << harmless(note) << '\n';
}

std::string time_of_day() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  std::array<char, 16> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%H:%M:%S", &local)};
}

// On a terminal each look takes the place of the one before. A switch that does not answer may come
// back.
void watch(const ShowOptions& options) {
  using Clock = std::chrono::steady_clock;
  const bool terminal = isatty(STDOUT_FILENO) == 1 && !options.json;
  Reply before = ask(options);
  Clock::time_point then = Clock::now();
  print(options, before.data);
  print_notes(before);
  for (std::uint64_t n = 1; options.times == 0 || n < options.times; ++n) {
    tools::check_output();
    std::this_thread::sleep_for(std::chrono::nanoseconds(options.every.to_ns()));
    if (terminal) std::cout << "\033[H\033[2J";
    if (!options.json)
      std::cout << (terminal ? "" : "\n") << subject(options) << ", " << time_of_day() << '\n';
    try {
      const Reply now = ask(options);
      const Clock::time_point at = Clock::now();
      const double seconds = std::chrono::duration<double>(at - then).count();
      print(options, options.json ? now.data : with_rates(before.data, now.data, seconds));
      print_notes(now);
      before = now;
      then = at;
    } catch (const ControlError& error) {
      if (options.json) throw;
      std::cout << error.what() << '\n';
    }
  }
}

Duration parse_every(const std::string& text) {
  const auto every = config::parse_duration(text);
  if (!every || *every < kShortestEvery || *every > kLongestEvery)
    throw cli::UsageError("--every", "'" + text + "'; allowed: 100ms to 1h, such as 1s");
  return *every;
}

void add_watch_options(cli::App& command, const std::shared_ptr<ShowOptions>& options) {
  command
      .add_parsed(
          "--every", [options](const std::string& text) { options->every = parse_every(text); },
          "Look again and again, at any of these, with how much what has grown grows a second; "
          "ends at Ctrl-C")
      ->type_name("TIME");
  command.add_option("--times", options->times, "With --every: end after so many looks")
      ->check(cli::range(std::uint64_t{1}, std::uint64_t{1'000'000'000}))
      ->type_name("N");
}

struct ShowTable {
  const char* name;
  const char* text;  // for --help; lines end with \n
};
constexpr std::array kTables = {
    ShowTable{"ports", "link, packets, bytes, drops of each port"},
    ShowTable{"jobs", "state, epoch, counters of each job"},
    ShowTable{"members", "the ranks of each job: where they are, what they hold"},
    ShowTable{"tree", "the switch above, and the children, of each job"},
    ShowTable{"slots", "chunks being summed now, and whose data is missing"},
    ShowTable{"holds", "for how long slots were held; of one JOB, or of \"all\", the histogram"},
    ShowTable{"stragglers",
              "how late each child was in the latest ops, latest first; of one JOB,\nor of all"},
    ShowTable{"completion", "what the completion engine of each job holds and has finished"},
    ShowTable{"escalated", "chunks that wait there, and whose data is missing"},
    ShowTable{"op",
              "what became of one op, JOB/OP: who came when, who missed the deadline\nby how much, "
              "what was escalated, where its results were made"},
    ShowTable{
        "hosts",
        "who finishes chunks of which shard, who chose it and why, where jobs\nname completion "
        "hosts"},
    ShowTable{"seats",
              "of a completion host, a parameter server or a switch: which shards it\nserves, for "
              "which term"},
    ShowTable{"models", "of a parameter server: steps done, and the last checkpoint"},
    ShowTable{"drops", "packets that did not go on, by reason"},
    ShowTable{"stages",
              "calls, packets, cycles and times of each stage of the packet loops;\nof one LCORE, "
              "or of all"},
    ShowTable{"lcores", "each packet loop: busy, idle and asleep, its queues and jobs"},
    ShowTable{"rxq", "which lcore polls which receive queue"},
    ShowTable{"handover", "what went from one lcore to another, and what found the ring full"},
    ShowTable{"fdb", "addresses that the switch knows, and their ports; of vlan=N, of port=NAME"},
    ShowTable{"vlans",
              "which ports each VLAN has, in which form, and how many addresses are known"},
    ShowTable{"acl", "rules of access control, and how many frames each decided on"},
    ShowTable{"groups", "multicast groups that somebody wants, and behind which ports"},
    ShowTable{"lldp", "who says that it is behind which port"},
    ShowTable{"routes", "which peers are behind which router"},
    ShowTable{"neighbours", "these routers: whether they answer, and where they are"},
    ShowTable{"fragments",
              "datagrams put together and frames cut, and fragments that were lost,\nof each port"},
    ShowTable{"buffers", "packet buffers in use, and free"},
    ShowTable{"config", "the configuration in force, defaults included"},
    ShowTable{"events", "what happened, and when; of the latest SECONDS, or all that is known"},
    ShowTable{"assigned", "a manager's document: its term, revision and jobs"},
    ShowTable{"overrides", "keys that `tributary set` changed, and what the file says of them"},
};

std::string help_of_tables() {
  constexpr std::size_t kColumn = 11;
  std::string help;
  for (const ShowTable& table : kTables) {
    if (!help.empty()) help += '\n';
    const std::string_view name = table.name;
    help.append(name).append(kColumn - name.size(), ' ');
    for (const char c : std::string_view(table.text)) {
      help += c;
      if (c == '\n') help.append(kColumn, ' ');
    }
  }
  return help;
}
std::vector<std::string> names_of_tables() {
  std::vector<std::string> names;
  for (const ShowTable& table : kTables) names.emplace_back(table.name);
  return names;
}

// Throws cli::UsageError.
void check_words(const ShowOptions& options) {
  if (options.times != 0 && options.every == Duration())
    throw cli::UsageError("--times", "is of use with --every only");
  const auto& which = options.which;
  if (options.what == "op" && which.empty())
    throw cli::UsageError("show op", "JOB/OP is needed, such as 1/42");
  const auto is = [&](const char* what) { return options.what == what; };
  const bool one = is("op") || is("stragglers") || is("holds") || is("stages") || is("events");
  const std::size_t most = is("fdb") ? 2 : one ? 1 : 0;
  if (which.size() > most)
    throw cli::UsageError("show " + options.what, "takes no '" + which[most] + "'");
}

}  // namespace

void add_show(cli::App& app) {
  auto options = std::make_shared<ShowOptions>();
  cli::App* command = app.add_subcommand("show", "Show the state of a running switch");
  command->add_option("WHAT", options->what, help_of_tables())
      ->required()
      ->check(cli::is_member(names_of_tables()))
      ->type_name("WHAT");
  command
      ->add_option(
          "WHICH", options->which,
          "Of `op`: the job's id and the op's number, such as 1/42. Of `stragglers` and "
          "`holds`: the job's id. Of `stages`: an lcore. Of `fdb`: vlan=N, port=NAME, or both")
      ->expected(0, 2)
      ->type_name("WHICH");
  command->add_option("--socket", options->socket, "Control socket of the switch")
      ->capture_default_str()
      ->type_name("PATH");
  command->add_flag("--json", options->json, "Print the data as JSON instead of a table");
  add_watch_options(*command, options);
  command->footer(
      "Examples:\n"
      "  tributary show ports\n"
      "  tributary show ports --every 1s\n"
      "  tributary show jobs --json | jq '.[].epoch'\n"
      "  tributary show op 1/42\n"
      "  tributary show stragglers 1\n"
      "  tributary show holds all\n"
      "  tributary show fdb vlan=10 port=w0\n"
      "  tributary show slots --socket /run/tributary/leaf1.sock");
  command->callback([options] {
    check_words(*options);
    if (options->every != Duration()) return watch(*options);
    const Reply reply = ask(*options);
    print(*options, reply.data);
    print_notes(reply);
  });
}

}  // namespace tributary::client
