// `tributary pool`: what operators ask of the memory pool.
#include <chrono>
#include <iostream>
#include <memory>
#include <thread>

#include "tools/client/commands.h"
#include "tools/client/helper_library.h"

namespace tributary::client {
namespace {

constexpr auto kLookEvery = std::chrono::milliseconds(100);
constexpr int kLooksPerLine = 10;

// Ids [first, first + count).
struct IdRange {
  std::uint64_t first = 0;
  std::uint64_t count = ~std::uint64_t{0};
};

struct PoolOptions {
  std::string config = "/etc/tributary/pool.yaml";
  bool json = false;
  bool manifest = false;
  bool unpin = false;
  IdRange range;
  std::string amount;
  std::string target;
};
using Options = std::shared_ptr<PoolOptions>;

constexpr HelperLibrary::Names kLibrary{.file = "libtributary-pool.so.0",
                                        .release = "tributary_pool_free_reply",
                                        .commands = "commands of the pool",
                                        .option = "pool"};

// Does `what`, one of the words of pool/api/operate.h.
Json operate(const PoolOptions& options, const char* what, Json more = Json::object()) {
  static const HelperLibrary library(kLibrary);
  more["config"] = options.config;
  more["do"] = what;
  return library.ask("tributary_pool_operate", more);
}

Json operate_range(const PoolOptions& options, const char* what) {
  return operate(options, what, {{"first", options.range.first}, {"count", options.range.count}});
}

// A row of `status` for a table: without the fields that only programs want.
Json status_row(const Json& status) {
  Json row = status;
  row.erase("incarnation");
  const auto fill = row.find("fill");
  if (fill == row.end()) return row;
  const Json filled = *fill;
  row.erase("fill");
  row["fill"] = filled.value("running", false) ? "running" : "idle";
  row["fill_failed"] = filled.value("failed", 0);
  return row;
}

void print(const PoolOptions& options, const Json& rows, int& exit_status) {
  if (options.json) {
    std::cout << rows.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
  } else {
    Json shown = Json::array();
    for (const Json& row : rows) shown.push_back(status_row(row));
    std::cout << render_table(shown, "no nodes");
  }
  for (const Json& row : rows)
    if (row["state"] != "up") exit_status = kExitFailed;
}

cli::App* add(cli::App& pool, const Options& options, const char* name, const char* text) {
  cli::App* const command = pool.add_subcommand(name, text);
  command->add_option("--config", options->config, "The pool's file")
      ->capture_default_str()
      ->type_name("PATH");
  command->add_flag("--json", options->json, "Print the answers as JSON instead of a table");
  return command;
}

void add_range(cli::App& command, const Options& options) {
  command.add_option("--first", options->range.first, "First record")->capture_default_str();
  command.add_option("--count", options->range.count, "How many records; default: all from there");
}

cli::App* add_range_command(cli::App& pool, const Options& options, int& exit_status,
                            const char* name, const char* text) {
  cli::App* const command = add(pool, options, name, text);
  add_range(*command, options);
  command->callback([options, name, &exit_status] {
    const Json rows = operate_range(*options, options->unpin ? "unpin" : name);
    print(*options, rows, exit_status);
    for (const Json& row : rows)
      if (row.value("corrupt", 0) != 0) exit_status = kExitFailed;
  });
  return command;
}

// Puts into `rows` which nodes did not begin their fill, or are not those any more that began it.
void mark_unfilled(const Json& begun, Json& rows) {
  for (Json& row : rows)
    for (const Json& at_first : begun) {
      if (at_first["node"] != row["node"] || row["state"] != "up") continue;
      if (at_first["state"] != "up")
        row["state"] = at_first["state"];
      else if (at_first.value("incarnation", Json()) != row.value("incarnation", Json()))
        row["state"] = "was started again during the fill; fill it again";
    }
}

// Fills all nodes and waits, with a line of progress now and then. Returns the final statuses.
Json fill_nodes(const PoolOptions& options) {
  const Json begun = operate_range(options, "fill");
  for (int look = 0;; ++look) {
    Json rows = operate(options, "status");
    bool running = false;
    std::uint64_t stored = 0;
    std::uint64_t bytes = 0;
    for (const Json& row : rows) {
      if (!row.contains("fill")) continue;
      running |= row["fill"]["running"].get<bool>();
      stored += row["fill"]["stored"].get<std::uint64_t>();
      bytes += row["fill"]["stored_bytes"].get<std::uint64_t>();
    }
    if (!running || look % kLooksPerLine == 0)
      std::cerr << "filled " << stored << " records, " << (bytes >> 20) << " MiB" << std::endl;
    if (!running) {
      mark_unfilled(begun, rows);
      return rows;
    }
    std::this_thread::sleep_for(kLookEvery);
  }
}

// Names what a manifest lacks though the store has it: links out of the store, for example.
void print_left_out(const Json& written) {
  const auto count = written.value("left_out", std::uint64_t{0});
  if (count == 0) return;
  std::cerr << "left out: " << count << '\n';
  for (const Json& line : written["left_out_first"])
    std::cerr << "  " << harmless(line.get<std::string>()) << '\n';
  if (written["left_out_first"].size() < count) std::cerr << "  ...\n";
}

void run_fill(const PoolOptions& options, int& exit_status) {
  if (options.manifest) {
    const Json written = operate(options, "manifest");
    std::cerr << harmless(written["manifest"].get<std::string>()) << ": " << written["records"]
              << " records" << std::endl;
    print_left_out(written);
    return;
  }
  const Json rows = fill_nodes(options);
  print(options, rows, exit_status);
  for (const Json& row : rows) {
    if (!row.contains("fill")) continue;
    for (const Json& error : row["fill"]["errors"])
      std::cerr << harmless(row["node"].get<std::string>() + ": " + error.get<std::string>())
                << '\n';
    if (row["fill"]["failed"] != 0) exit_status = kExitFailed;
  }
}

void run_configure(const PoolOptions& options) {
  const Json load =
      operate(options, "configure", {{"amount", options.amount}, {"target", options.target}});
  std::cout << "amount: " << load["amount"].get<std::string>()
            << "\ntarget: " << load["target"].get<std::string>() << '\n';
}

}  // namespace

void add_pool(cli::App& app, int& exit_status) {
  cli::App* const pool = app.add_subcommand("pool", "Operate the memory pool for training data");
  pool->require_subcommand(1);
  const auto options = std::make_shared<PoolOptions>();
  add(*pool, options, "status", "Contents and activity of each node")
      ->callback(
          [options, &exit_status] { print(*options, operate(*options, "status"), exit_status); });
  cli::App* const fill =
      add(*pool, options, "fill", "Bring records from the store into the pool, and wait");
  fill->add_flag("--manifest", options->manifest,
                 "Only look through the store and write the manifest");
  add_range(*fill, options);
  fill->callback([options, &exit_status] { run_fill(*options, exit_status); });
  add_range_command(*pool, options, exit_status, "pin", "Keep records that are there from eviction")
      ->add_flag("--off", options->unpin, "Pinned records may be evicted again");
  add_range_command(*pool, options, exit_status, "evict", "Drop records, unless they are pinned");
  add_range_command(*pool, options, exit_status, "verify",
                    "Check the CRC of records, and drop bad ones");
  cli::App* const configure =
      add(*pool, options, "configure", "Set, and show, what loads without ids bring, and where to");
  configure->add_option("--amount", options->amount, "Such as \"4096 records\" or \"64 MiB\"")
      ->type_name("AMOUNT");
  configure->add_option("--target", options->target, "host, or gpu:N")->type_name("TARGET");
  configure->callback([options] { run_configure(*options); });
  pool->footer(
      "Examples:\n"
      "  tributary pool fill --manifest --config pool.yaml\n"
      "  tributary pool fill --config pool.yaml\n"
      "  tributary pool status --config pool.yaml\n"
      "  tributary pool pin --first 0 --count 1000 --config pool.yaml\n"
      "  tributary pool configure --amount \"64 MiB\" --target host --config pool.yaml");
}

}  // namespace tributary::client
