#include "worker/mpi/shim/runtime.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "worker/mpi/shim/binding.h"
#include "worker/mpi/shim/buffers.h"
#include "worker/mpi/shim/counting.h"
#include "worker/mpi/shim/mpi_functions.h"
#include "worker/mpi/shim/mpi_types.h"
#include "worker/mpi/shim/pending.h"

namespace tributary::mpi {
namespace {

// Never destroyed: exit() may come at any time, while other threads still use it.
Runtime* current = nullptr;
std::uint32_t own_rank = 0;

// How long a wait for the switch may leave MPI without progress.
constexpr Duration kFirstLook = Duration::us(100);
constexpr Duration kMostLook = Duration::ms(1);

// A request that is not completed before the end: testing it lets MPI progress. A probe does not
// work for both MPIs.
MPI_Request never_done = MPI_REQUEST_NULL;

void make_never_done() {
  real().Grequest_start([](void*, MPI_Status*) { return MPI_SUCCESS; },
                        [](void*) { return MPI_SUCCESS; }, [](void*, int) { return MPI_SUCCESS; },
                        nullptr, &never_done);
}

void free_never_done() {
  real().Grequest_complete(never_done);
  real().Wait(&never_done, MPI_STATUS_IGNORE);
}

bool spawned() {
  MPI_Comm parent = MPI_COMM_NULL;
  real().Comm_get_parent(&parent);
  return parent != MPI_COMM_NULL;
}

std::string share_text(std::string text) {
  unsigned long long size = text.size();
  real().Bcast(&size, 1, MPI_UNSIGNED_LONG_LONG, 0, MPI_COMM_WORLD);
  text.resize(size);
  real().Bcast(text.data(), static_cast<int>(size), MPI_BYTE, 0, MPI_COMM_WORLD);
  return text;
}

// Every rank calls it. The barrier keeps another rank's abort from ending rank 0 before it logs.
[[noreturn]] void end_program(const std::string& why) {
  if (own_rank == 0) say(why);
  real().Barrier(MPI_COMM_WORLD);
  real().Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

Settings agree_on_settings() {
  try {
    return parse_settings(share_text(
        own_rank == 0 ? collect([](const char* n) -> const char* { return std::getenv(n); })
                      : std::string()));
  } catch (const std::invalid_argument& e) {
    end_program(e.what());
  }
}

// Every rank needs an address: a rank without one would leave the others waiting.
bool all_have_address(const std::string& address) {
  const int missing = address.empty() ? static_cast<int>(own_rank) : -1;
  int most = -1;
  real().Allreduce(&missing, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (most >= 0 && own_rank == 0)
    say("rank " + std::to_string(most) +
        " has no TRIBUTARY_ADDRESS, such as udp://10.77.0.254: all calls go to MPI");
  return most < 0;
}

void open_job_list(Runtime& r) {
  ServiceAddress where;
  std::string failure;
  if (own_rank == 0) {
    try {
      r.service = std::make_unique<JobService>(own_address_towards(r.address), r.settings.jobs);
      where = r.service->address();
    } catch (const std::exception& e) {
      failure = e.what();
    }
  }
  real().Bcast(&where, sizeof where, MPI_BYTE, 0, MPI_COMM_WORLD);
  if (where.port == 0) end_program(failure);
  r.jobs.emplace(where);
}

}  // namespace

Runtime* runtime() {
  return current;
}

void start_runtime() {
  int rank = 0;
  real().Comm_rank(MPI_COMM_WORLD, &rank);
  own_rank = static_cast<std::uint32_t>(rank);
  if (spawned()) return;  // its first ranks would assign the same jobs again
  auto r = std::make_unique<Runtime>();
  r->world_rank = own_rank;
  r->settings = agree_on_settings();
  if (r->settings.counts) start_counting();
  const char* const address = std::getenv("TRIBUTARY_ADDRESS");
  if (address != nullptr) r->address = address;
  if (!all_have_address(r->address)) return;
  learn_types();
  open_job_list(*r);
  make_never_done();
  open_packing();
  open_bindings();
  current = r.release();
  if (current->settings.bind_world) bind(MPI_COMM_WORLD);
}

void stop_runtime() {
  if (current == nullptr) return report_counts();
  finish_pending();
  real().Barrier(MPI_COMM_WORLD);  // a rank whose call has yet to end needs the others in its job
  report_counts();
  close_bindings();
  close_packing();
  free_never_done();
  real().Barrier(MPI_COMM_WORLD);  // the job list must outlive its last user
  Runtime* const r = current;
  current = nullptr;
  delete r;
}

void say(const std::string& text) {
  const std::string line = "tributary: rank " + std::to_string(own_rank) + ": " + text + "\n";
  [[maybe_unused]] const auto n = ::write(STDERR_FILENO, line.data(), line.size());
}

void drive_mpi() {
  int flag = 0;
  real().Request_get_status(never_done, &flag, MPI_STATUS_IGNORE);
}

void wait_driving(const std::function<bool(Duration)>& wait_for) {
  Duration look = kFirstLook;
  while (!wait_for(look)) {
    drive_mpi();
    look = std::min(look + look, kMostLook);
  }
}

}  // namespace tributary::mpi
