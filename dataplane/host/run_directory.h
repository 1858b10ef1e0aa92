// DPDK's run directory of this process, and those that killed predecessors left.
//
// The directory tributary-PID holds DPDK's telemetry socket. It goes when the process exits; what
// a killed process leaves, the next one removes.
#pragma once

#include <filesystem>
#include <string>

namespace tributary::dataplane {

// Name of the directory of process `pid`, which is also EAL's file prefix.
std::string run_directory_name(int pid);

// The directory beneath which DPDK makes its own, as DPDK 22.11 chooses it (eal_filesystem.c).
std::filesystem::path run_directory_parent();
// Makes `parent`/dpdk if it is not there. Throws std::runtime_error, with the system's reason and
// what to do, when a directory cannot be made there.
void check_run_directory(const std::filesystem::path& parent);

// For exit: removes this process's directory, if it is empty.
void remove_run_directory();

// Removes beneath `parent` the directories of processes that are gone, if they hold nothing but a
// socket on which no process listens.
void remove_stale_run_directories(const std::filesystem::path& parent);

}  // namespace tributary::dataplane
