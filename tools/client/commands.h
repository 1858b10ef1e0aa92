// The subcommands of `tributary`. Each adds itself to the parser; when it is chosen, its
// callback runs it, writes to stdout, and throws on failure or sets `exit_status`.
#pragma once

#include <CLI/CLI.hpp>

namespace tributary::client {

// 0: done. 1: failed, or a result was wrong. 2: the command line makes no sense.
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;

void add_show(CLI::App& app);
void add_exclude(CLI::App& app);
void add_place_host(CLI::App& app);
void add_reload(CLI::App& app);
void add_set(CLI::App& app);
void add_capture(CLI::App& app);
void add_trace(CLI::App& app);
void add_allreduce(CLI::App& app, int& exit_status);
void add_bench(CLI::App& app, int& exit_status);

}  // namespace tributary::client
