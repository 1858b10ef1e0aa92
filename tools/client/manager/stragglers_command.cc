// `tributary stragglers`: which ranks of a cluster are late, the latest first.
#include <cstdint>
#include <iostream>
#include <memory>

#include "tools/client/commands.h"
#include "tools/client/manager/manager_library.h"
#include "tools/client/manager/manager_options.h"

namespace tributary::client {
namespace {

struct StragglersCommand : ManagerOptions {
  std::string job;
  std::uint32_t most = 0;
  double above_ms = 0;
};

Json row_of(const Json& rank) {
  Json row = {{"job", rank["job"]},
              {"rank", rank["rank"]},
              {"worker", rank["worker"]},
              {"switch", rank["reported_by"]}};
  for (const char* key : {"mean_ms", "max_ms", "last_ms", "ops"}) row[key] = rank[key];
  for (const char* key : {"first", "last"}) row[key] = rank.value(key, Json());
  row["missed_deadlines"] = rank["missed_deadlines"];
  row["excluded"] = rank["excluded"];
  row["late_in"] = rank.value("everywhere", false) ? "all its jobs" : "";
  return row;
}

void run(const StragglersCommand& options) {
  const Json reply =
      call_manager(options.target, "Cluster.Stragglers",
                   {{"job", options.job}, {"most", options.most}, {"above_ms", options.above_ms}});
  const Json& ranks = reply["stragglers"];
  if (options.json) {
    std::cout << ranks.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
    return;
  }
  Json rows = Json::array();
  for (const Json& rank : ranks) rows.push_back(row_of(rank));
  std::cout << render_table(rows, "no rank has sent anything yet");
}

}  // namespace

void add_stragglers(cli::App& app) {
  cli::App* const command =
      app.add_subcommand("stragglers", "Ranks of a cluster by how late their data is");
  const auto options = std::make_shared<StragglersCommand>();
  add_manager_options(*command, *options);
  command->add_option("JOB", options->job, "Its name; left out: all jobs");
  command->add_option("--most", options->most, "Show so many ranks; 0: all")
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--above", options->above_ms, "Show ranks whose mean is at least this, in ms")
      ->check(cli::range(0.0, 1e9))
      ->type_name("MS")
      ->capture_default_str();
  command->callback([options] { run(*options); });
  command->footer(
      "Times are behind the first arrival of a chunk at the switch that the worker is attached "
      "to,\n"
      "over the job's latest ops; first and last are how many of them its data was the first or "
      "the\n"
      "last of to arrive there.\n"
      "Example:\n"
      "  tributary stragglers resnet --most 5");
}

}  // namespace tributary::client
