// `tributary show`: what a running switch says about itself.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tools/client/commands.h"
#include "tools/client/control/control_client.h"
#include "tools/client/control/rates.h"
#include "tools/client/control/slot_summary.h"
#include "tools/client/control/table.h"
#include "tools/client/control/task_reports.h"
#include "tools/client/control/telemetry_server.h"
#include "tools/client/control/watch.h"
#include "tools/program/standard_output.h"

namespace tributary::client {
namespace {

struct ShowOptions {
  std::string what;
  // For `op`: JOB/OP; for `stragglers` and `holds`: a job, or none; for `fdb`: vlan=N, port=NAME.
  std::vector<std::string> which;
  std::string socket = kDefaultSocket;
  std::string telemetry;  // address of a telemetry server; empty: the switch is asked
  std::string reports;    // folder of tasks' members
  bool json = false;
  bool wide = false;                 // all columns, however long the lines
  bool all = false;                  // of `slots`: a row for each chunk
  std::vector<std::string> columns;  // none: those that there are
  Duration every;                    // none: once
  std::uint64_t times = 0;           // 0: until a signal
};

std::string subject(const ShowOptions& options) {
  std::string what = options.what;
  for (const std::string& word : options.which) what += ' ' + word;
  return what;
}

bool is_of_telemetry(const ShowOptions& options) {
  return options.what == "links" || options.what == "paths";
}

Reply ask(const ShowOptions& options) {
  if (options.what == "tasks")
    return read_task_reports(options.reports, options.which.empty() ? "" : options.which.front());
  if (is_of_telemetry(options)) return {ask_telemetry_server(options.telemetry, options.what), {}};
  return ask_with_notes(options.socket, Json{{"command", "show"}, {"what", subject(options)}});
}

// In the order in which they first come.
std::vector<std::string> columns_of(const Json& rows) {
  std::vector<std::string> names;
  for (const Json& row : rows)
    for (const auto& [name, value] : row.items())
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  return names;
}

// Throws cli::UsageError.
void check_columns(const ShowOptions& options, const std::vector<std::string>& there) {
  for (const std::string& column : options.columns) {
    if (std::find(there.begin(), there.end(), column) != there.end()) continue;
    std::string list;
    for (const std::string& name : there) list += (list.empty() ? "" : ", ") + harmless(name);
    throw cli::UsageError("--columns", "'" + column + "': " + options.what + " has " + list);
  }
}

Json chosen_columns(const ShowOptions& options, const Json& rows) {
  if (options.columns.empty() || !rows.is_array() || rows.empty()) return rows;
  check_columns(options, columns_of(rows));
  Json chosen = Json::array();
  for (const Json& row : rows) {
    Json picked = Json::object();
    for (const std::string& column : options.columns)
      picked[column] = row.contains(column) ? row[column] : Json();
    chosen.push_back(std::move(picked));
  }
  return chosen;
}

// The data as it is shown. A program that reads JSON gets each chunk.
Json shown(const ShowOptions& options, const Json& data) {
  const bool sums_up = options.what == "slots" && !options.all && !options.json;
  return chosen_columns(options, sums_up ? sum_up_slots(data) : data);
}

void print_rows(const ShowOptions& options, Json rows) {
  // Programs that read the table get all of it.
  const bool narrow = !options.wide && options.columns.empty() && isatty(STDOUT_FILENO) == 1;
  const auto left_out = narrow ? fit(rows, kUsualWidth) : std::vector<std::string>();
  std::cout << render_table(rows, options.what == "fdb" ? "no addresses" : "no " + options.what);
  if (left_out.empty() || isatty(STDERR_FILENO) != 1) return;
  std::cout.flush();
  std::cerr << "note: --wide shows " << left_out.size() << " columns more, such as "
            << harmless(left_out.front()) << '\n';
}

void print(const ShowOptions& options, const Json& data) {
  const bool is_table = options.what != "config";
  if (options.json || (!is_table && !data.is_string()))
    std::cout << data.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
  else if (options.what == "paths")
    std::cout << render_paths(data);
  else if (is_table)
    print_rows(options, data);
  else
    std::cout << data.get<std::string>();
}

// Beside the rows, which may go to a program.
void print_notes(const Reply& reply) {
  tools::check_output();
  for (const std::string& note : reply.notes) std::cerr << "note: " << harmless(note) << '\n';
}

// On a terminal each look takes the place of the one before. A switch that does not answer may come
// back.
void watch(const ShowOptions& options) {
  using Clock = std::chrono::steady_clock;
  const bool terminal = isatty(STDOUT_FILENO) == 1 && !options.json;
  Reply before = ask(options);
  before.data = shown(options, before.data);
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
      Reply now = ask(options);
      now.data = shown(options, now.data);
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

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> words;
  std::size_t at = 0;
  for (std::size_t end = 0; end != std::string::npos; at = end + 1) {
    end = text.find(',', at);
    if (const std::string word = text.substr(at, end - at); !word.empty()) words.push_back(word);
  }
  return words;
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
    ShowTable{"slots",
              "chunks being summed now, and whose data is missing, by op; with --all each chunk"},
    ShowTable{"holds", "for how long slots were held; of one JOB, or of \"all\", the histogram"},
    ShowTable{"stragglers",
              "how late each child was in the latest ops, and how often first and\nlast, latest "
              "first; of one JOB, or of all"},
    ShowTable{"completion", "chunks that the completion engine of each job holds and has finished"},
    ShowTable{"escalated", "chunks that wait there, and whose data is missing"},
    ShowTable{"op",
              "the history of one op, JOB/OP: when each child came, which missed\n"
              "the deadline by how much, which chunks were escalated, where its\n"
              "results were made"},
    ShowTable{"collisions", "dynamic jobs whose chunks find their slot taken, and what would help"},
    ShowTable{"ops", "the ops of a JOB that `op` has lines for, and what went wrong"},
    ShowTable{"hosts",
              "which host finishes chunks of which shard, how it was chosen and why,\n"
              "where jobs name completion hosts"},
    ShowTable{"seats",
              "at a completion host, a parameter server or a switch: which shards it\n"
              "serves, for which term"},
    ShowTable{"models", "at a parameter server: steps done, and the last checkpoint"},
    ShowTable{"drops", "packets that did not go on, by reason"},
    ShowTable{"stages",
              "calls, packets, cycles and times of each stage of the packet loops;\nof one LCORE, "
              "or of all"},
    ShowTable{"lcores", "each packet loop: busy, idle and asleep, its queues and jobs"},
    ShowTable{"rxq", "which lcore polls which receive queue"},
    ShowTable{"handover", "packets from one lcore to another, and those that found the ring full"},
    ShowTable{"fdb", "addresses that the switch knows, and their ports; of vlan=N, of port=NAME"},
    ShowTable{"vlans",
              "which ports each VLAN has, in which form, and how many addresses are known"},
    ShowTable{"acl", "rules of access control, and how many frames each decided on"},
    ShowTable{"groups", "multicast groups, and the ports that want them"},
    ShowTable{"lldp", "neighbours that LLDP tells of, and their ports"},
    ShowTable{"routes", "which peers are behind which router"},
    ShowTable{"neighbours", "these routers: whether they answer, and where they are"},
    ShowTable{"qps", "queue pairs of jobs that take RDMA, and the ranks at their other ends"},
    ShowTable{"names", "named data of each job: what the cache holds, hits and misses"},
    ShowTable{"fragments",
              "datagrams put together and frames cut, and fragments that were lost,\nof each port"},
    ShowTable{"buffers", "packet buffers in use, and free"},
    ShowTable{"telemetry",
              "packets that in-band telemetry sampled, stamped and stripped; or which\nports are "
              "trusted: ports"},
    ShowTable{
        "tasks",
        "members of tasks on this machine: state, bytes, rounds, norm, who is\nmissing; of one "
        "JOB, the time-line"},
    ShowTable{"config", "the configuration in force, defaults included"},
    ShowTable{"events", "events with their times; of the latest SECONDS, or all that are kept"},
    ShowTable{"assigned", "a manager's document: its term, revision and jobs"},
    ShowTable{"overrides", "keys that `tributary set` changed, and what the file says of them"},
    ShowTable{"links", "at a telemetry server: latency and use of each egress port"},
    ShowTable{"paths", "at a telemetry server: the best paths, why, and the alternatives"},
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
  if (is_of_telemetry(options) == options.telemetry.empty())
    throw cli::UsageError("--telemetry", "goes with `show links` and `show paths`, which need it");
  if (options.what == "tasks" && options.reports.empty())
    throw cli::UsageError("show tasks",
                          "needs the folder into which the members report: --reports "
                          "FOLDER, or TRIBUTARY_TASKS in the environment");
  if (options.all && options.what != "slots")
    throw cli::UsageError("--all", "goes with `show slots`");
  const auto& which = options.which;
  if (options.what == "op" && which.empty())
    throw cli::UsageError("show op", "JOB/OP is needed, such as 1/42");
  const auto is = [&](const char* what) { return options.what == what; };
  const bool one = is("op") || is("ops") || is("stragglers") || is("holds") || is("stages") ||
                   is("events") || is("telemetry") || is("tasks");
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
          "For `op`: the job's id and the op's number, such as 1/42. For `ops`, `stragglers`, "
          "`holds` and `tasks`: the job's id. For `stages`: an lcore. For `telemetry`: ports. For "
          "`fdb`: "
          "vlan=N, port=NAME, or both")
      ->expected(0, 2)
      ->type_name("WHICH");
  command->add_option("--socket", options->socket, "Control socket of the switch")
      ->capture_default_str()
      ->type_name("PATH");
  command
      ->add_option("--telemetry", options->telemetry,
                   "For `links` and `paths`: where tributary-telemetryd has its pages")
      ->type_name("IPV4:PORT");
  if (const char* const folder = std::getenv("TRIBUTARY_TASKS")) options->reports = folder;
  command
      ->add_option("--reports", options->reports,
                   "For `tasks`: the folder into which members report. Default: TRIBUTARY_TASKS of "
                   "the environment")
      ->type_name("FOLDER");
  command->add_flag("--json", options->json, "Print the data as JSON instead of a table");
  command->add_flag("--wide", options->wide,
                    "Show all columns. Without it, a terminal does not get those that make a table "
                    "wider than 120 characters: first what is 0 or absent in all rows");
  command->add_flag("--all", options->all,
                    "Show a row for each chunk, not for all of an op in one state: of `slots`");
  command
      ->add_parsed(
          "--columns", [options](const std::string& text) { options->columns = split(text); },
          "Show these columns alone, in this order: names with commas between")
      ->type_name("A,B");
  add_watch_options(*command, options);
  command->footer(
      "Examples:\n"
      "  tributary show ports\n"
      "  tributary show ports --every 1s\n"
      "  tributary show jobs --json | jq '.[].epoch'\n"
      "  tributary show jobs --columns job,state,present\n"
      "  tributary show op 1/42\n"
      "  tributary show stragglers 1\n"
      "  tributary show holds all\n"
      "  tributary show fdb vlan=10 port=w0\n"
      "  tributary show slots --socket /run/tributary/leaf1.sock\n"
      "  tributary show tasks --reports /run/training\n"
      "  tributary show paths --telemetry 10.0.0.9:9476");
  command->callback([options] {
    check_words(*options);
    if (options->every != Duration()) return watch(*options);
    const Reply reply = ask(*options);
    print(*options, shown(*options, reply.data));
    print_notes(reply);
  });
}

}  // namespace tributary::client
