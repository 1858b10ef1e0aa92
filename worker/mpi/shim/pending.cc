#include "worker/mpi/shim/pending.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

#include "worker/mpi/shim/runtime.h"

namespace tributary::mpi {
namespace {

constexpr Duration kMoment = Duration::us(100);

struct Pending {
  const char* name;
  std::shared_ptr<Binding> binding;
  Offloaded work;
  MPI_Request request;
  int error;
};

std::atomic<int> in_flight{0};
std::mutex mutex;  // of the next; held while one of them is completed
std::vector<std::shared_ptr<Pending>>& list() {
  static auto* const made = new std::vector<std::shared_ptr<Pending>>;
  return *made;
}

// MPI's query for the status of a completed request.
int query(void* state, MPI_Status* status) {
  real().Status_set_elements(status, MPI_BYTE, 0);
  real().Status_set_cancelled(status, 0);
  status->MPI_SOURCE = MPI_UNDEFINED;
  status->MPI_TAG = MPI_UNDEFINED;
  return (*static_cast<std::shared_ptr<Pending>*>(state))->error;
}

int release(void* state) {
  delete static_cast<std::shared_ptr<Pending>*>(state);
  return MPI_SUCCESS;
}

int cancel(void*, int) {
  return MPI_SUCCESS;  // collectives cannot be cancelled
}

void complete(Pending& p) {
  try {
    p.work.finish();
  } catch (const std::exception& e) {
    p.error = error_of(p.name, *p.binding, e);
  }
  p.binding.reset();
  real().Grequest_complete(p.request);
}

std::shared_ptr<Pending> find(MPI_Request request) {
  const std::lock_guard lock(mutex);
  for (const auto& p : list())
    if (p->request == request) return p;
  return nullptr;
}

}  // namespace

bool any_pending() {
  return in_flight.load(std::memory_order_acquire) != 0;
}

void start_pending(const char* name, std::shared_ptr<Binding> binding, Offloaded work,
                   MPI_Request* request) {
  auto p = std::make_shared<Pending>(
      Pending{name, std::move(binding), std::move(work), MPI_REQUEST_NULL, MPI_SUCCESS});
  real().Grequest_start(query, release, cancel, new std::shared_ptr<Pending>(p), &p->request);
  *request = p->request;
  const std::lock_guard lock(mutex);
  list().push_back(std::move(p));
  in_flight.fetch_add(1, std::memory_order_release);
}

void complete_finished() {
  if (!any_pending()) return;
  const std::lock_guard lock(mutex);
  const std::size_t before = list().size();
  std::erase_if(list(), [](const std::shared_ptr<Pending>& p) {
    if (!p->work.done()) return false;
    complete(*p);
    return true;
  });
  in_flight.fetch_sub(static_cast<int>(before - list().size()), std::memory_order_release);
}

bool is_pending(MPI_Request request) {
  return any_pending() && find(request) != nullptr;
}

void wait_pending(MPI_Request request) {
  if (!any_pending()) return;
  if (const auto p = find(request))
    wait_driving([&](Duration limit) { return p->work.wait_for(limit); });
  complete_finished();
}

bool wait_for_some(int count, const MPI_Request requests[]) {
  for (int i = 0; i < count; ++i) {
    const auto p = find(requests[i]);
    if (p == nullptr) continue;
    if (!p->work.wait_for(kMoment)) drive_mpi();
    return true;
  }
  return false;
}

void finish_pending() {
  while (any_pending()) {
    std::shared_ptr<Pending> first;
    {
      const std::lock_guard lock(mutex);
      if (!list().empty()) first = list().front();
    }
    if (first != nullptr) wait_pending(first->request);
  }
}

int error_of(const char* name, const Binding& binding, const std::exception& e) {
  say(std::string(name) + ", job " + std::to_string(binding.job) + ": " + e.what());
  return MPI_ERR_OTHER;
}

}  // namespace tributary::mpi
