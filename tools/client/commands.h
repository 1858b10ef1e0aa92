// The subcommands of `tributary`. Each adds itself to the parser; when it is chosen, its
// callback runs it, writes to stdout, and throws on failure or sets `exit_status`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/cli/app.h"

namespace tributary::client {

// 0: done. 1: failed, or a result was wrong. 2: the command line makes no sense.
inline constexpr int kExitFailed = 1;
using cli::kExitUsage;

void add_show(cli::App& app);
void add_exclude(cli::App& app);
void add_drain(cli::App& app);
void add_place_host(cli::App& app);
void add_forget_term(cli::App& app);
void add_events(cli::App& app);
void add_top(cli::App& app);
void add_reload(cli::App& app);
void add_set(cli::App& app);
void add_unset(cli::App& app);
void add_capture(cli::App& app);
void add_trace(cli::App& app);
void add_allreduce(cli::App& app, int& exit_status);
void add_bench(cli::App& app, int& exit_status);
void add_doctor(cli::App& app, int& exit_status);
void add_get(cli::App& app);
void add_pool(cli::App& app, int& exit_status);
void add_job(cli::App& app);
void add_pod(cli::App& app);
void add_node(cli::App& app);
void add_device(cli::App& app);
void add_topology(cli::App& app);
void add_stragglers(cli::App& app);
// `behind`: the words behind "--".
using PassedWords = std::optional<std::vector<std::string>>;
void add_run(cli::App& app, const PassedWords& behind, int& exit_status);
void add_mpirun(cli::App& app, const PassedWords& behind, int& exit_status);
void add_mpi_rank(cli::App& app, const PassedWords& behind, int& exit_status);

}  // namespace tributary::client
