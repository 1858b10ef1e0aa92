#include "bench/harness.h"

#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string_view>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tributary::bench {

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kCacheLine = 64;

void pin_to(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(cpu < 0 ? sched_getcpu() : cpu), &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0) {
    std::perror("sched_setaffinity");
    std::exit(2);
  }
}

double seconds_of(const Side& side, std::size_t& bytes) {
  if (side.prepare) side.prepare();
  const double begin = thread_seconds();
  bytes = side.run();
  return thread_seconds() - begin;
}

double gigabytes_per_second(const Side& side, bool& verified) {
  std::size_t bytes = 0;
  const double seconds = seconds_of(side, bytes);
  if (side.verify && !side.verify()) verified = false;
  return static_cast<double>(bytes) / seconds * 1e-9;
}

}  // namespace

Options parse_options(int argc, char** argv, const char* what) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view arg = argv[i];
    if (arg == "--quick") {
      options.quick = true;
    } else if (arg == "--json") {
      options.json = true;
    } else if (arg == "--cpu" && i + 1 < argc) {
      options.cpu = std::atoi(argv[++i]);
    } else {
      std::fprintf(stderr, "%s\nusage: %s [--quick] [--json] [--cpu N]\n", what, argv[0]);
      std::exit(arg == "--help" ? 0 : 2);
    }
  }
  pin_to(options.cpu);
  return options;
}

void Report::add(const Row& row) {
  failed_ = failed_ || !row.verified;
  print(row, true);
}

void Report::add_not_measured(Row row, const std::string& why) {
  row.metric += ": not measured: " + why;
  row.runs = 0;
  row.verified = false;
  print(row, false);
}

void Report::print(const Row& row, bool measured) const {
  if (json_) {
    std::printf(
        "{\"suite\": \"%s\", \"case\": \"%s\", \"metric\": \"%s\", \"value\": %.6g, \"unit\": "
        "\"%s\", \"reference\": \"%s\", \"reference_value\": %.6g, \"ratio\": %.4g, \"runs\": %zu, "
        "\"min\": %.6g, \"max\": %.6g, \"verified\": %s}\n",
        row.suite.c_str(), row.case_name.c_str(), row.metric.c_str(), row.value, row.unit.c_str(),
        row.reference.c_str(), row.reference_value, row.ratio, row.runs, row.min, row.max,
        row.verified ? "true" : "false");
  } else if (!measured) {
    std::printf("%-10s %-34s %s\n", row.suite.c_str(), row.case_name.c_str(), row.metric.c_str());
  } else {
    std::printf("%-10s %-34s %8.2f %s", row.suite.c_str(), row.case_name.c_str(), row.value,
                row.unit.c_str());
    if (!row.reference.empty())
      std::printf("  %s %.2f, ratio %.2f", row.reference.c_str(), row.reference_value, row.ratio);
    std::printf("  [%.2f .. %.2f] %s\n", row.min, row.max, row.verified ? "ok" : "WRONG DATA");
  }
  std::fflush(stdout);
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 != 0 ? values[half] : (values[half - 1] + values[half]) / 2;
}

void measure(const Options& options, const Side& subject, const Side* reference, Row& row,
             std::size_t times) {
  std::vector<double> ours;
  std::vector<double> theirs;
  std::vector<double> ratios;
  row.verified = true;
  // Round 0 warms caches, page tables and clock frequency and is not counted.
  for (std::size_t round = 0; round <= times * options.rounds(); ++round) {
    double us = 0;
    double them = 0;
    if (reference != nullptr && round % 2 == 0)
      them = gigabytes_per_second(*reference, row.verified);
    us = gigabytes_per_second(subject, row.verified);
    if (reference != nullptr && round % 2 != 0)
      them = gigabytes_per_second(*reference, row.verified);
    if (round == 0) continue;
    ours.push_back(us);
    if (reference != nullptr) {
      theirs.push_back(them);
      ratios.push_back(us / them);
    }
  }
  row.value = median(ours);
  row.unit = "GB/s";
  row.runs = ours.size();
  row.min = *std::min_element(ours.begin(), ours.end());
  row.max = *std::max_element(ours.begin(), ours.end());
  if (reference != nullptr) {
    row.reference = reference->name;
    row.reference_value = median(theirs);
    row.ratio = median(ratios);
  }
}

Buffer::Buffer(std::size_t bytes) : size_(bytes) {
  const std::size_t rounded = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  data_.reset(static_cast<std::byte*>(std::aligned_alloc(kHugePage, rounded)));
  if (!data_) {
    std::fprintf(stderr, "cannot allocate %zu bytes\n", rounded);
    std::exit(2);
  }
  madvise(data_.get(), rounded, MADV_HUGEPAGE);
  std::memset(data_.get(), 0, rounded);
}
void Buffer::Free::operator()(std::byte* p) const {
  std::free(p);
}

bool flush_from_caches(std::span<const std::byte> bytes) {
#if defined(__x86_64__)
  for (std::size_t i = 0; i < bytes.size(); i += kCacheLine) _mm_clflush(bytes.data() + i);
  _mm_mfence();
  return true;
#elif defined(__aarch64__)
  for (std::size_t i = 0; i < bytes.size(); i += kCacheLine)
    __asm__ volatile("dc civac, %0" ::"r"(bytes.data() + i) : "memory");
  __asm__ volatile("dsb ish" ::: "memory");
  return true;
#else
  static_cast<void>(bytes);
  return false;
#endif
}

std::size_t l2_bytes() {
  const long size = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return size > 0 ? static_cast<std::size_t>(size) : std::size_t{1} << 20;
}

}  // namespace tributary::bench
