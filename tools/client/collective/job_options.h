// Command-line options that subcommands which join a job share, and values they have in common.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/wire/types.h"
#include "tools/cli/app.h"
#include "tools/client/collective/ranks.h"

namespace tributary::client {

// --job, --size, --address, --timeout, --loss-group, --delay, --delay-file.
void add_job_options(cli::App& command, JobOptions& options);
// --rank of one process; the caller decides what its absence means.
cli::Option* add_rank_option(cli::App& command, JobOptions& options);
// Throws cli::UsageError for a rank outside the job.
void check_job_options(const JobOptions& options);

// --dtype, --op and --collective, with the names of all types, reductions, and collectives but the
// barrier.
cli::Option* add_dtype_option(cli::App& command, wire::DType& dtype);
cli::Option* add_op_option(cli::App& command, wire::ReduceOp& op);
cli::Option* add_collective_option(cli::App& command, wire::Collective& collective);

// "4096", "64K", "16M", "1G": powers of 1,024. nullopt when it is no such size or too large.
std::optional<std::uint64_t> parse_size(const std::string& text);

}  // namespace tributary::client
