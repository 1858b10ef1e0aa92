// The instructions that DPDK's packages demand of an x86-64 CPU: SSSE3, SSE4.1, SSE4.2 and POPCNT.
//
// DPDK uses them in constructors of its libraries, which run before main(). So a program that links
// DPDK has, in its main.cc, the entry
//
//   [[gnu::section(".preinit_array"), gnu::used]] const auto kFirst = &end_on_old_cpu;
//
// which runs before them. This folder is compiled for every x86-64 CPU, and cpu_check.cc
// instantiates no template: of equal instances the linker keeps any, also one that was compiled for
// newer CPUs.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tributary::tools {

// Writes the error of a program on a CPU that lacks some of them into `text`, at most `size` bytes,
// without a zero at its end. Returns its length; 0: none lacks.
std::size_t old_cpu_error(const char* program, std::uint32_t cpuid_1_ecx, char* text,
                          std::size_t size);

// Ends the process with that error, and status 1, where this CPU lacks some. Called by the loader,
// which passes the arguments of main().
void end_on_old_cpu(int argc, char** argv, char** environment);

}  // namespace tributary::tools
