// `tributary top`: jobs, stragglers, ports, drops and the latest events of a switch, on one screen.
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <thread>

#include "tools/client/commands.h"
#include "tools/client/control/control_client.h"
#include "tools/client/control/rates.h"
#include "tools/client/control/table.h"
#include "tools/client/control/watch.h"
#include "tools/program/standard_output.h"

namespace tributary::client {
namespace {

struct TopOptions {
  std::string socket = kDefaultSocket;
  Duration every = Duration::seconds(1);
  std::uint64_t times = 0;  // 0: until a signal
};

constexpr std::array kJobColumns = {
    "job",         "name",    "plane",      "state",           "epoch",
    "present",     "workers", "slots_open", "completions",     "resends",
    "escalations", "aborts",  "last_abort", "last_abort_ranks"};
constexpr std::array kStragglerColumns = {
    "job", "node", "mean_ms", "max_ms", "last_ms", "missed_deadlines", "excluded", "port", "link"};
constexpr std::array kPortColumns = {"port",       "link",     "rx_packets", "rx_bytes",
                                     "tx_packets", "tx_bytes", "drops"};
constexpr std::array kDropColumns = {"port", "reason", "packets"};
constexpr std::array kEventColumns = {"time", "level", "job", "text"};

struct Pane {
  const char* title;
  const char* what;  // of `show`
  std::span<const char* const> columns;
  std::size_t most;  // rows
  bool last_ones;    // the last rows, not the first
};
constexpr std::array<Pane, 5> kPanes = {{
    {"jobs", "jobs", kJobColumns, 20, false},
    {"stragglers, the latest first", "stragglers", kStragglerColumns, 5, false},
    {"ports", "ports", kPortColumns, 20, false},
    {"drops", "drops", kDropColumns, 5, false},
    {"events", "events 86400", kEventColumns, 5, true},
}};

Json some_of(const Json& rows, const Pane& pane) {
  const std::size_t begin = pane.last_ones && rows.size() > pane.most ? rows.size() - pane.most : 0;
  Json out = Json::array();
  for (std::size_t i = begin; i < rows.size() && out.size() < pane.most; ++i)
    out.push_back(rows[i]);
  return out;
}

// The screens of one run; remembers what the one before had, for rates.
class Top {
 public:
  explicit Top(const TopOptions& options) : options_(options) {}

  std::string screen() {
    std::array<Json, kPanes.size()> now;
    for (std::size_t i = 0; i < kPanes.size(); ++i) now[i] = ask_for(kPanes[i]);
    const Clock::time_point at = Clock::now();
    const double seconds = std::chrono::duration<double>(at - then_).count();
    std::string text = options_.socket + ", " + time_of_day() + '\n';
    for (std::size_t i = 0; i < kPanes.size(); ++i)
      text += pane_text(kPanes[i], with_rates(before_[i], now[i], seconds));
    before_ = now;
    then_ = at;
    return text;
  }

 private:
  using Clock = std::chrono::steady_clock;

  Json ask_for(const Pane& pane) const {
    const Reply reply =
        ask_with_notes(options_.socket, Json{{"command", "show"}, {"what", pane.what}});
    return with_columns(some_of(reply.data, pane), pane.columns);
  }
  static std::string pane_text(const Pane& pane, Json rows) {
    fit(rows, kUsualWidth);
    return std::string("\n") + pane.title + ":\n" + render_table(rows, "none");
  }

  TopOptions options_;
  std::array<Json, kPanes.size()> before_;
  Clock::time_point then_ = Clock::now();
};

// A switch that does not answer may come back.
void run(const TopOptions& options) {
  const bool terminal = isatty(STDOUT_FILENO) == 1;
  Top top(options);
  std::string text = top.screen();
  for (std::uint64_t n = 1;; ++n) {
    std::cout << (terminal ? "\033[H\033[2J" : n > 1 ? "\n" : "") << text;
    tools::check_output();
    if (n == options.times) return;
    std::this_thread::sleep_for(std::chrono::nanoseconds(options.every.to_ns()));
    try {
      text = top.screen();
    } catch (const ControlError& error) {
      text = time_of_day() + ": " + error.what() + '\n';
    }
  }
}

}  // namespace

void add_top(cli::App& app) {
  auto options = std::make_shared<TopOptions>();
  cli::App* command = app.add_subcommand(
      "top", "Show jobs, stragglers, ports, drops and events of a running switch on one screen");
  command
      ->add_parsed(
          "--every", [options](const std::string& text) { options->every = parse_every(text); },
          "Between two looks; 1s unless given")
      ->type_name("TIME");
  command->add_option("--times", options->times, "End after so many looks, not at Ctrl-C")
      ->check(cli::range(std::uint64_t{1}, std::uint64_t{1'000'000'000}))
      ->type_name("N");
  command->add_option("--socket", options->socket, "Control socket of the switch")
      ->capture_default_str()
      ->type_name("PATH");
  command->footer("Counters that grow have how much they grow a second beside them.");
  command->callback([options] { run(*options); });
}

}  // namespace tributary::client
