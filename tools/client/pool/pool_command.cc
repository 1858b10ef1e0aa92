// `tributary pool`: what operators ask of the memory pool.
#include <iostream>
#include <memory>

#include "tools/client/commands.h"
#include "tools/client/pool/operate.h"

namespace tributary::client {
namespace {

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

void print(const PoolOptions& options, const Json& rows, int& exit_status, std::size_t failed) {
  if (options.json) {
    std::cout << rows.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
  } else {
    Json shown = Json::array();
    for (const Json& row : rows) shown.push_back(status_row(row));
    std::cout << render_table(shown, "no nodes");
  }
  if (failed != 0) exit_status = kExitFailed;
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

void add_range_command(cli::App& pool, const Options& options, int& exit_status, const char* name,
                       const char* text, pool::CommandKind kind) {
  cli::App* const command = add(pool, options, name, text);
  add_range(*command, options);
  if (kind == pool::CommandKind::pin)
    command->add_flag("--off", options->unpin, "Pinned records may be evicted again");
  command->callback([options, kind, &exit_status] {
    const auto config = pool::load_pool_config(options->config);
    const auto meant = options->unpin ? pool::CommandKind::unpin : kind;
    std::size_t failed = 0;
    const Json rows = ask_nodes(config, failed, [&](pool::NodeLink& link) {
      return link.command(meant, options->range.first, options->range.count);
    });
    print(*options, rows, exit_status, failed);
    for (const Json& row : rows)
      if (row.value("corrupt", 0) != 0) exit_status = kExitFailed;
  });
}

void run_fill(const PoolOptions& options, int& exit_status) {
  const auto config = pool::load_pool_config(options.config);
  if (options.manifest) {
    std::cerr << config.dataset.manifest << ": " << write_manifest(config) << " records"
              << std::endl;
    return;
  }
  std::size_t failed = 0;
  const Json rows = fill_nodes(config, options.range, failed, std::cerr);
  print(options, rows, exit_status, failed);
  for (const Json& row : rows) {
    if (!row.contains("fill")) continue;
    for (const Json& error : row["fill"]["errors"])
      std::cerr << harmless(row["node"].get<std::string>() + ": " + error.get<std::string>())
                << '\n';
    if (row["fill"]["failed"] != 0) exit_status = kExitFailed;
  }
}

void run_configure(const PoolOptions& options) {
  pool::LoadConfig load = pool::load_pool_config(options.config).load;
  if (!options.amount.empty()) {
    const auto amount = pool::parse_amount(options.amount);
    if (!amount)
      throw std::invalid_argument("--amount '" + options.amount +
                                  "'; allowed: a number of records, or of KiB, MiB or GiB");
    load.amount = *amount;
  }
  if (!options.target.empty()) load.target = options.target;
  if (!options.amount.empty() || !options.target.empty())
    pool::store_load_config(options.config, load);
  std::cout << "amount: " << pool::format_amount(load.amount) << "\ntarget: " << load.target
            << '\n';
}

}  // namespace

void add_pool(cli::App& app, int& exit_status) {
  cli::App* const pool = app.add_subcommand("pool", "Operate the memory pool for training data");
  pool->require_subcommand(1);
  const auto options = std::make_shared<PoolOptions>();
  add(*pool, options, "status", "What each node holds and does")->callback([options, &exit_status] {
    std::size_t failed = 0;
    const Json rows = ask_nodes(pool::load_pool_config(options->config), failed,
                                [](pool::NodeLink& link) { return link.status(); });
    print(*options, rows, exit_status, failed);
  });
  cli::App* const fill =
      add(*pool, options, "fill", "Bring records from the store into the pool, and wait");
  fill->add_flag("--manifest", options->manifest,
                 "Only look through the store and write the manifest");
  add_range(*fill, options);
  fill->callback([options, &exit_status] { run_fill(*options, exit_status); });
  add_range_command(*pool, options, exit_status, "pin", "Keep records that are there from eviction",
                    pool::CommandKind::pin);
  add_range_command(*pool, options, exit_status, "evict", "Drop records, unless they are pinned",
                    pool::CommandKind::evict);
  add_range_command(*pool, options, exit_status, "verify",
                    "Check the CRC of records, and drop bad ones", pool::CommandKind::verify);
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
