#include "worker/torch/backend.h"

#include <cstdio>
#include <set>

namespace tributary::torch_backend {
namespace {

// All groups that are not destroyed yet.
std::mutex& all_mutex() {
  static std::mutex mutex;
  return mutex;
}
std::set<Backend*>& all_backends() {
  static std::set<Backend*> backends;
  return backends;
}

// Keeps it alive; null if its last owner is gone or its first is not there yet.
c10::intrusive_ptr<Backend> hold(Backend* backend) {
  auto borrowed = c10::weak_intrusive_ptr<Backend>::reclaim(backend);
  auto held = borrowed.lock();
  static_cast<void>(borrowed.release());
  return held;
}

void check_root(const char* call, std::int64_t root, int size) {
  TORCH_CHECK(root >= 0 && root < size, "tributary: ", call, " with root ", root,
              "; allowed: 0 to ", size - 1, ", a rank of the group");
}

std::chrono::milliseconds set_or_zero(std::chrono::milliseconds timeout) {
  return timeout == c10d::kUnsetTimeout ? std::chrono::milliseconds(0) : timeout;
}

}  // namespace

Backend::Backend(BackendOptions options, BackendPointer inner, std::unique_ptr<Agreement> agreement)
    : BackendBase(options.rank, options.size),
      options_(std::move(options)),
      inner_(std::move(inner)),
      membership_(static_cast<std::uint32_t>(rank_), static_cast<std::uint32_t>(size_),
                  Duration::ms(options_.timeout.count()), std::move(agreement)) {
  const std::lock_guard lock(all_mutex());
  all_backends().insert(this);
}

Backend::~Backend() {
  membership_.agreement().unlocked([this] {
    {
      const std::lock_guard lock(all_mutex());
      all_backends().erase(this);
    }
    end();
    // Ends its threads, which may have to free tensors of Python's, with the interpreter's lock.
    inner_.reset();
  });
}

void Backend::close() {
  // A join that is under way needs the interpreter's lock to end.
  membership_.agreement().unlocked([this] { end(); });
}

void Backend::end() {
  bool failed = false;
  {
    const std::lock_guard lock(mutex_);
    failed = failed_;
    for (const auto& work : in_flight_) failed = failed || !work->ops_done() || work->failed();
  }
  membership_.leave(failed);  // ends the ops that the completer waits for
  completer_->stop();
  std::deque<c10::intrusive_ptr<SwitchWork>> ended;
  const std::lock_guard lock(mutex_);
  std::swap(ended, in_flight_);
}

void Backend::close_all() {
  // Closing needs the interpreter's lock, which a thread may hold that makes a group and waits for
  // the mutex.
  std::vector<c10::intrusive_ptr<Backend>> held;
  {
    const std::lock_guard lock(all_mutex());
    for (Backend* const backend : all_backends())
      if (auto group = hold(backend)) held.push_back(std::move(group));
  }
  for (const auto& group : held) group->close();
}

std::pair<std::uint64_t, std::uint64_t> Backend::calls() const {
  const std::lock_guard lock(mutex_);
  return {to_switch_, to_inner_};
}

std::shared_ptr<Communicator> Backend::route(const CallKind& kind) {
  Verdict verdict = decide(kind, static_cast<std::uint32_t>(size_), options_.thresholds);
  std::shared_ptr<Communicator> communicator;
  if (verdict.to_switch) {
    communicator = membership_.communicator();
    if (communicator == nullptr) verdict = {false, membership_.why_not()};
  }
  if (options_.log)
    std::fprintf(
        stderr, "tributary: rank %d of %d, group %s: %s: %s (%s)\n", rank_, size_,
        options_.group.c_str(), describe(kind).c_str(),
        verdict.to_switch ? ("switch, job " + std::to_string(membership_.job())).c_str() : "gloo",
        verdict.why.c_str());
  TORCH_CHECK(communicator != nullptr || kind.op_name != "AVG", "tributary: ", describe(kind), ": ",
              verdict.why, ", and Gloo has no AVG; use SUM, and divide");
  const std::lock_guard lock(mutex_);
  ++(verdict.to_switch ? to_switch_ : to_inner_);
  return communicator;
}

WorkPointer Backend::finish_start(const CallKind& kind, Started started) {
  if (options_.scale_degraded) started.call.scalable = scalable(kind);
  auto work = c10::make_intrusive<SwitchWork>(rank_, static_cast<std::uint32_t>(size_),
                                              std::move(started.call), std::move(started.requests),
                                              completer_);
  // They may free tensors of Python's, whose lock another thread may hold that waits for this one.
  std::vector<c10::intrusive_ptr<SwitchWork>> ended;
  {
    const std::lock_guard lock(mutex_);
    while (!in_flight_.empty() && in_flight_.front()->ops_done()) {
      failed_ = failed_ || in_flight_.front()->failed();
      ended.push_back(std::move(in_flight_.front()));
      in_flight_.pop_front();
    }
    in_flight_.push_back(work);
  }
  started.communicator.reset();  // after close() the op ends with it
  if (work->must_be_finished()) completer_->add(work);
  return work;
}

WorkPointer Backend::allreduce_of(std::vector<at::Tensor>& tensors, const c10d::ReduceOp& op,
                                  std::chrono::milliseconds timeout, c10d::OpType type,
                                  wire::Encoding encoding,
                                  const std::function<WorkPointer()>& inner) {
  TORCH_CHECK(!tensors.empty(), "tributary: all_reduce of no tensor");
  const CallKind kind = kind_of(wire::Collective::allreduce, tensors, &op, "all_reduce");
  Started s{route(kind)};
  if (s.communicator == nullptr) return inner();
  HostMemory memory = HostMemory::pack(tensors);
  s.requests.push_back(
      s.communicator->allreduce(memory.data(), memory.count(), kind.dtype, *kind.op, encoding));
  s.call = {type,     "tributary:all_reduce", describe(kind), tensors, tensors, {memory},
            {memory}, set_or_zero(timeout)};
  return finish_start(kind, std::move(s));
}

WorkPointer Backend::allreduce(std::vector<at::Tensor>& tensors,
                               const c10d::AllreduceOptions& opts) {
  TORCH_CHECK(tensors.size() == 1, "tributary: all_reduce takes one tensor, not ", tensors.size());
  return allreduce_of(tensors, opts.reduceOp, opts.timeout, c10d::OpType::ALLREDUCE,
                      wire::Encoding::plain, [&] { return inner_->allreduce(tensors, opts); });
}

WorkPointer Backend::allreduce_block_scaled(at::Tensor& tensor) {
  std::vector<at::Tensor> tensors{tensor};
  TORCH_CHECK(tensor.scalar_type() == at::kFloat,
              "tributary: block-scaled sums are for float32, not ", tensor.scalar_type());
  return allreduce_of(tensors, c10d::ReduceOp::SUM, c10d::kUnsetTimeout, c10d::OpType::ALLREDUCE,
                      wire::Encoding::block_scaled,
                      [&] { return inner_->allreduce(tensors, c10d::AllreduceOptions()); });
}

WorkPointer Backend::allreduce_coalesced(std::vector<at::Tensor>& tensors,
                                         const c10d::AllreduceCoalescedOptions& opts) {
  return allreduce_of(tensors, opts.reduceOp, opts.timeout, c10d::OpType::ALLREDUCE_COALESCED,
                      wire::Encoding::plain,
                      [&] { return inner_->allreduce_coalesced(tensors, opts); });
}

WorkPointer Backend::reduce(std::vector<at::Tensor>& tensors, const c10d::ReduceOptions& opts) {
  TORCH_CHECK(tensors.size() == 1, "tributary: reduce takes one tensor, not ", tensors.size());
  check_root("reduce", opts.rootRank, size_);
  const CallKind kind = kind_of(wire::Collective::reduce, tensors, &opts.reduceOp, "reduce");
  Started s{route(kind)};
  if (s.communicator == nullptr) return inner_->reduce(tensors, opts);
  HostMemory memory = HostMemory::pack(tensors);
  s.requests.push_back(s.communicator->reduce(memory.data(), memory.count(), kind.dtype, *kind.op,
                                              static_cast<std::uint32_t>(opts.rootRank)));
  s.call = {
      c10d::OpType::REDUCE,     "tributary:reduce", describe(kind), tensors, tensors, {memory}, {},
      set_or_zero(opts.timeout)};
  if (opts.rootRank == rank_) s.call.received = {memory};
  return finish_start(kind, std::move(s));
}

WorkPointer Backend::broadcast(std::vector<at::Tensor>& tensors,
                               const c10d::BroadcastOptions& opts) {
  TORCH_CHECK(tensors.size() == 1, "tributary: broadcast takes one tensor, not ", tensors.size());
  check_root("broadcast", opts.rootRank, size_);
  const CallKind kind = kind_of(wire::Collective::broadcast, tensors, nullptr, "broadcast");
  Started s{route(kind)};
  if (s.communicator == nullptr) return inner_->broadcast(tensors, opts);
  const bool is_root = opts.rootRank == rank_;
  HostMemory memory = is_root ? HostMemory::pack(tensors) : HostMemory::room_for(tensors);
  s.requests.push_back(s.communicator->broadcast(memory.data(), memory.count(), kind.dtype,
                                                 static_cast<std::uint32_t>(opts.rootRank)));
  s.call = {c10d::OpType::BROADCAST,
            "tributary:broadcast",
            describe(kind),
            tensors,
            tensors,
            {memory},
            {},
            set_or_zero(opts.timeout)};
  if (!is_root) s.call.received = {memory};
  return finish_start(kind, std::move(s));
}

WorkPointer Backend::barrier(const c10d::BarrierOptions& opts) {
  CallKind kind;
  kind.collective = wire::Collective::barrier;
  Started s{route(kind)};
  if (s.communicator == nullptr) return inner_->barrier(opts);
  s.requests.push_back(s.communicator->barrier_async());
  s.call = {c10d::OpType::BARRIER,    "tributary:barrier", "barrier", {}, {}, {}, {},
            set_or_zero(opts.timeout)};
  return finish_start(kind, std::move(s));
}

}  // namespace tributary::torch_backend
