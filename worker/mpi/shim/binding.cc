#include "worker/mpi/shim/binding.h"

#include <chrono>
#include <mutex>
#include <vector>

#include "worker/api/switches.h"
#include "worker/mpi/shim/call.h"
#include "worker/mpi/shim/runtime.h"

namespace tributary::mpi {
namespace {

// The result of joining a job; the largest over all ranks counts.
enum class Joined : int { yes, wrong_size, unknown, failed };

int keyval = MPI_KEYVAL_INVALID;
std::mutex mutex;  // of the next
std::vector<std::weak_ptr<Binding>>& all_bindings() {
  static auto* const made = new std::vector<std::weak_ptr<Binding>>;
  return *made;
}

// Called when MPI frees the communicator or its attributes.
int forget(MPI_Comm, int, void* attribute, void*) {
  delete static_cast<std::shared_ptr<Binding>*>(attribute);
  return MPI_SUCCESS;
}

std::string name_of(MPI_Comm comm) {
  std::array<char, MPI_MAX_OBJECT_NAME + 1> text{};
  int length = 0;
  real().Comm_get_name(comm, text.data(), &length);
  return length == 0 ? "a communicator" : std::string(text.data());
}

struct Group {
  MPI_Comm comm;
  std::uint32_t rank;
  std::uint32_t size;
};

// Rank 0 asks for all ranks. 0 in `found`: no job is left, `why` gives the reason.
struct Offer {
  int found = 0;
  std::uint32_t job = 0;
  std::uint64_t run = 0;  // another at each try, so that no rank of another program is met
  std::array<char, 256> why{};
};
Offer next_offer(const Group& group) {
  Offer offer;
  if (group.rank == 0) {
    const auto answer = runtime()->jobs->take(group.size);
    if (const auto* job = std::get_if<std::uint32_t>(&answer)) {
      offer.found = 1;
      offer.job = *job;
      offer.run = worker::random_nonce();
    } else {
      const auto& why = std::get<std::string>(answer);
      why.copy(offer.why.data(), offer.why.size() - 1);
    }
  }
  real().Bcast(&offer, sizeof offer, MPI_BYTE, 0, group.comm);
  return offer;
}

Joined join(const Group& group, const Offer& offer, Binding& binding) {
  const Runtime& r = *runtime();
  CommunicatorOptions options;
  options.job = offer.job;
  options.run = "mpi " + std::to_string(offer.run);
  options.rank = group.rank;
  options.size = group.size;
  options.address = expand_address(r.address, r.world_rank, offer.job);
  options.join_timeout = r.settings.join_timeout;
  options.op_timeout = r.settings.op_timeout;
  options.cancelled = [] {
    drive_mpi();
    return false;
  };
  try {
    binding.communicator = Communicator::create(options);
    return Joined::yes;
  } catch (const CommunicatorError& e) {
    binding.why = e.what();
    switch (e.reason()) {
      case wire::Reason::job_size_mismatch:
      case wire::Reason::bad_rank: return Joined::wrong_size;
      case wire::Reason::unknown_job: return Joined::unknown;
      default: return Joined::failed;
    }
  } catch (const std::exception& e) {
    binding.why = e.what();
    return Joined::failed;
  }
}

// Every offloaded call votes (call.h). A job whose `reductions` leave that out does not answer.
bool votes(Binding& binding) {
  std::int64_t ballot = 0;
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::nanoseconds(runtime()->settings.join_timeout.to_ns());
  bool done = false;
  try {
    Request vote =
        binding.communicator->allreduce(&ballot, 1, wire::DType::int64, wire::ReduceOp::max);
    wait_driving([&](Duration limit) {
      done = vote.wait_for(limit);
      return done || std::chrono::steady_clock::now() >= end;
    });
    if (!done) binding.communicator.reset();  // the vote uses the ballot
  } catch (const CommunicatorError& e) {
    binding.why = e.what();
  }
  return done;
}

// True if the vote is done on every rank.
bool all_vote(const Group& group, std::uint32_t job, Binding& binding) {
  const int missing = votes(binding) ? 0 : 1;
  int any = 0;
  real().Allreduce(&missing, &any, 1, MPI_INT, MPI_MAX, group.comm);
  if (any == 0) return true;
  binding.communicator.reset();
  if (binding.why.empty())
    binding.why = "job " + std::to_string(job) +
                  " does not vote: its reductions must have int64 max, which tells errors";
  if (group.rank == 0) {
    runtime()->jobs->broken(job);
    say(name_of(group.comm) + " stays with MPI: " + binding.why);
  }
  return false;
}

void give_up(const Group& group, std::uint32_t job, Joined why) {
  if (why == Joined::wrong_size)
    runtime()->jobs->wrong_size(job, group.size);
  else
    runtime()->jobs->broken(job);
}

// Tries one job after the other, until the ranks are in one or know that there is none.
void find_job(const Group& group, Binding& binding) {
  while (true) {
    const Offer offer = next_offer(group);
    if (offer.found == 0) {
      binding.why = offer.why.data();
      return;
    }
    const int own = static_cast<int>(join(group, offer, binding));
    int worst = 0;
    real().Allreduce(&own, &worst, 1, MPI_INT, MPI_MAX, group.comm);
    if (worst == static_cast<int>(Joined::yes)) {
      if (all_vote(group, offer.job, binding)) binding.job = offer.job;
      return;
    }
    binding.communicator.reset();
    if (group.rank == 0) give_up(group, offer.job, static_cast<Joined>(worst));
    if (worst != static_cast<int>(Joined::failed)) continue;
    if (own == worst) say(name_of(group.comm) + " stays with MPI: " + binding.why);
    if (binding.why.empty())
      binding.why = "another rank cannot join job " + std::to_string(offer.job);
    return;
  }
}

}  // namespace

Binding::~Binding() {
  if (communicator == nullptr) return;
  communicator.reset();
  if (Runtime* const r = runtime()) r->jobs->left(job);
}

std::shared_ptr<Binding> find_binding(MPI_Comm comm) {
  void* attribute = nullptr;
  int found = 0;
  real().Comm_get_attr(comm, keyval, &attribute, &found);
  if (found == 0) return nullptr;
  return *static_cast<std::shared_ptr<Binding>*>(attribute);
}

std::shared_ptr<Binding> bind(MPI_Comm comm) {
  auto binding = std::make_shared<Binding>();
  int between_groups = 0;
  int rank = 0;
  int size = 0;
  real().Comm_test_inter(comm, &between_groups);
  real().Comm_rank(comm, &rank);
  real().Comm_size(comm, &size);
  if (between_groups != 0) {
    binding->why = "an intercommunicator";
  } else if (size == 1) {
    binding->why = "a group of one rank";
  } else {
    find_job({comm, static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(size)}, *binding);
    if (rank == 0 && runtime()->settings.log)
      say(name_of(comm) + ", " + std::to_string(size) + " ranks: " +
          (binding->communicator ? "job " + std::to_string(binding->job) : binding->why));
  }
  real().Comm_set_attr(comm, keyval, new std::shared_ptr<Binding>(binding));
  const std::lock_guard lock(mutex);
  auto& all = all_bindings();
  std::erase_if(all, [](const auto& b) { return b.expired(); });
  all.push_back(binding);
  return binding;
}

void open_bindings() {
  real().Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &keyval, nullptr);
}

// Closes the communicators that the program has not freed.
void close_bindings() {
  std::vector<std::weak_ptr<Binding>> all;
  {
    const std::lock_guard lock(mutex);
    all.swap(all_bindings());
  }
  for (const auto& weak : all)
    if (const auto binding = weak.lock()) binding->communicator.reset();
}

}  // namespace tributary::mpi
