// tributary-impair: a bad cable between two DPDK ports, for tests.
//
// The system tests need loss, duplication and reordering on kernels without netem, and on ports
// (memif) that no kernel sees. Layer-2 transparent. Prints "ready" when frames may flow, and what
// it did when SIGINT or SIGTERM ends it.
#include <csignal>
#include <ctime>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>

#include "core/time.h"
#include "tools/impair/direction.h"
#include "tools/impair/options.h"
#include "tools/impair/port.h"
#include "tools/program/cpu_check.h"

namespace tributary::impair {
namespace {

constexpr std::uint32_t kMbufs = 8191;
constexpr Duration kLongestNap = Duration::us(200);

volatile std::sig_atomic_t stop_requested = 0;
volatile std::sig_atomic_t reread_requested = 0;

void request_stop(int) {
  stop_requested = 1;
}

void request_reread(int) {
  reread_requested = 1;
}

// A bad file changes nothing.
void reread(const Options& options, Direction& a_to_b, Direction& b_to_a) {
  reread_requested = 0;
  try {
    const Duration delay = read_delay(options.delay_file, options.impairment.delay);
    a_to_b.set_delay(delay);
    b_to_a.set_delay(delay);
    std::printf("delay %lld ns\n", static_cast<long long>(delay.to_ns()));
    std::fflush(stdout);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tributary-impair: %s\n", error.what());
  }
}

Instant clock_now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return Instant::from_ns(t.tv_sec * 1'000'000'000 + t.tv_nsec);
}

void nap(Duration d) {
  const timespec t{.tv_sec = 0, .tv_nsec = d.to_ns()};
  nanosleep(&t, nullptr);
}

// Longer naps the longer nothing happens, but never past a held frame's release.
Duration next_nap(Duration last, Instant now, Instant release) {
  const Duration longer = std::min(last + Duration::us(1), kLongestNap);
  return release <= now ? Duration() : std::min(longer, release - now);
}

void run(const Options& options, Direction& a_to_b, Direction& b_to_a) {
  Duration napped;
  while (stop_requested == 0) {
    if (reread_requested != 0) reread(options, a_to_b, b_to_a);
    const Instant now = clock_now();
    const std::size_t work = a_to_b.do_work(now) + b_to_a.do_work(now);
    if (work != 0) {
      napped = Duration();
      continue;
    }
    napped = next_nap(napped, now, std::min(a_to_b.next_release(), b_to_a.next_release()));
    nap(napped);
  }
}

void print(const char* name, const Direction& direction) {
  const ImpairmentCounts& c = direction.counts();
  std::printf(
      "%s frames=%llu dropped=%llu duplicated=%llu reordered=%llu corrupted=%llu "
      "overflowed=%llu queued=%llu lost_first=%llu transmit_failures=%llu\n",
      name, static_cast<unsigned long long>(c.frames), static_cast<unsigned long long>(c.dropped),
      static_cast<unsigned long long>(c.duplicated), static_cast<unsigned long long>(c.reordered),
      static_cast<unsigned long long>(c.corrupted), static_cast<unsigned long long>(c.overflowed),
      static_cast<unsigned long long>(c.queued),
      static_cast<unsigned long long>(direction.lost_first()),
      static_cast<unsigned long long>(direction.transmit_failures()));
}

void serve(const Options& options) {
  rte_mempool* pool = create_pool(kMbufs);
  const Port a = open_port(options.devargs_a, pool);
  const Port b = open_port(options.devargs_b, pool);
  while (options.wait_for_links && stop_requested == 0 && !(a.link_up() && b.link_up()))
    nap(kLongestNap);
  {
    // The directions' seeds differ, or both would lose the same frames.
    Direction a_to_b(a, b, options.impairment, options.seed * 2, options.first_losses);
    Direction b_to_a(b, a, options.impairment, options.seed * 2 + 1, options.first_losses);
    std::printf("ready seed=%llu\n", static_cast<unsigned long long>(options.seed));
    std::fflush(stdout);
    run(options, a_to_b, b_to_a);
    print("a-to-b", a_to_b);
    print("b-to-a", b_to_a);
  }
  close_port(a);
  close_port(b);
}

}  // namespace
}  // namespace tributary::impair

// Before DPDK's constructors, which use what an old CPU lacks.
[[gnu::section(".preinit_array"), gnu::used]] const auto kFirst = &tributary::tools::end_on_old_cpu;

int main(int argc, char** argv) {
  using namespace tributary::impair;
  Options options;
  if (const auto status = parse_options(argc, argv, options)) return *status;
  std::signal(SIGINT, request_stop);
  std::signal(SIGTERM, request_stop);
  if (!options.delay_file.empty()) std::signal(SIGHUP, request_reread);
  try {
    start_eal();
    serve(options);
    stop_eal();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tributary-impair: %s\n", error.what());
    return 1;
  }
  return 0;
}
