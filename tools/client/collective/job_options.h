// Command-line options that subcommands which join a job share, and values they have in common.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "core/wire/types.h"
#include "tools/client/collective/ranks.h"

namespace tributary::client {

// --job, --size, --address, --timeout, --loss-group, --delay, --delay-file.
void add_job_options(CLI::App& command, JobOptions& options);
// --rank of one process; the caller decides what its absence means.
CLI::Option* add_rank_option(CLI::App& command, JobOptions& options);
// Throws CLI::ValidationError for a rank outside the job.
void check_job_options(const JobOptions& options);

// --dtype, --op and --collective, with the names of all types, reductions, and collectives but the
// barrier.
CLI::Option* add_dtype_option(CLI::App& command, wire::DType& dtype);
CLI::Option* add_op_option(CLI::App& command, wire::ReduceOp& op);
CLI::Option* add_collective_option(CLI::App& command, wire::Collective& collective);

// "4096", "64K", "16M", "1G": powers of 1,024. nullopt when it is no such size or too large.
std::optional<std::uint64_t> parse_size(const std::string& text);

}  // namespace tributary::client
