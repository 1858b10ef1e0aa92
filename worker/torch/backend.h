// The PyTorch backend "tributary": collectives of a process group through the switch, and all
// others through an inner group (Gloo).
//
// Each call is described (rules.h: CallKind), and a pure rule decides whether it goes unchanged to
// the inner group or is started on the group's communicator, which is joined at the first such
// call. Any thread may call; ranks make the same calls in the same order, as c10d requires. A group
// that is destroyed while ops are in flight fails them.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "worker/torch/completer.h"
#include "worker/torch/membership.h"
#include "worker/torch/rules.h"
#include "worker/torch/version.h"
#include "worker/torch/work.h"

namespace tributary::torch_backend {

struct BackendOptions {
  int rank = 0;
  int size = 1;
  std::string group;  // for the log
  std::chrono::milliseconds timeout{0};
  Thresholds thresholds;
  bool log = false;
  bool scale_degraded = false;  // equal on every rank
};

class Backend final : public BackendBase {
 public:
  Backend(BackendOptions options, BackendPointer inner, std::unique_ptr<Agreement> agreement);
  ~Backend() override;

  const std::string getBackendName() const override { return "tributary"; }

  // Offloaded if the rule decides so.
  WorkPointer broadcast(std::vector<at::Tensor>& tensors,
                        const c10d::BroadcastOptions& opts) override;
  WorkPointer allreduce(std::vector<at::Tensor>& tensors,
                        const c10d::AllreduceOptions& opts) override;
  WorkPointer allreduce_coalesced(std::vector<at::Tensor>& tensors,
                                  const c10d::AllreduceCoalescedOptions& opts) override;
  WorkPointer reduce(std::vector<at::Tensor>& tensors, const c10d::ReduceOptions& opts) override;
  WorkPointer allgather(std::vector<std::vector<at::Tensor>>& outputs,
                        std::vector<at::Tensor>& inputs,
                        const c10d::AllgatherOptions& opts) override;
  WorkPointer _allgather_base(at::Tensor& output, at::Tensor& input,
                              const c10d::AllgatherOptions& opts) override;
  virtual WorkPointer allgather_into_tensor_coalesced(std::vector<at::Tensor>& outputs,
                                                      std::vector<at::Tensor>& inputs,
                                                      const c10d::AllgatherOptions& opts);
  WorkPointer reduce_scatter(std::vector<at::Tensor>& outputs,
                             std::vector<std::vector<at::Tensor>>& inputs,
                             const c10d::ReduceScatterOptions& opts) override;
  WorkPointer _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                   const c10d::ReduceScatterOptions& opts) override;
  virtual WorkPointer reduce_scatter_tensor_coalesced(std::vector<at::Tensor>& outputs,
                                                      std::vector<at::Tensor>& inputs,
                                                      const c10d::ReduceScatterOptions& opts);
  WorkPointer barrier(const c10d::BarrierOptions& opts) override;

  // Calls of the inner group.
  WorkPointer allgather_coalesced(std::vector<std::vector<at::Tensor>>& outputs,
                                  std::vector<at::Tensor>& inputs,
                                  const c10d::AllgatherOptions& opts) override;
  WorkPointer gather(std::vector<std::vector<at::Tensor>>& outputs, std::vector<at::Tensor>& inputs,
                     const c10d::GatherOptions& opts) override;
  WorkPointer scatter(std::vector<at::Tensor>& outputs,
                      std::vector<std::vector<at::Tensor>>& inputs,
                      const c10d::ScatterOptions& opts) override;
  WorkPointer alltoall_base(at::Tensor& output, at::Tensor& input,
                            std::vector<int64_t>& output_sizes, std::vector<int64_t>& input_sizes,
                            const c10d::AllToAllOptions& opts) override;
  WorkPointer alltoall(std::vector<at::Tensor>& outputs, std::vector<at::Tensor>& inputs,
                       const c10d::AllToAllOptions& opts) override;
  WorkPointer send(std::vector<at::Tensor>& tensors, int to, int tag) override;
  WorkPointer recv(std::vector<at::Tensor>& tensors, int from, int tag) override;
  WorkPointer recvAnysource(std::vector<at::Tensor>& tensors, int tag) override;
  void monitoredBarrier(const c10d::BarrierOptions& opts, bool wait_all_ranks) override;
  void setSequenceNumberForGroup() override { inner_->setSequenceNumberForGroup(); }
  uint64_t getSequenceNumberForGroup() override { return inner_->getSequenceNumberForGroup(); }

  // Ends the membership; every later call throws, and so does one that is still joining, on
  // whatever thread. May be called again. Newer versions of PyTorch call the other two when a group
  // is destroyed.
  void close();
  virtual void shutdown() { close(); }
  virtual void abort() { close(); }
  // Closes every existing group: call it before the interpreter ends.
  static void close_all();

  // Numbers of started ops by route, for tests and diagnosis: {switch, inner}.
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> calls() const;
  // Allreduce of float32 sums as integers under common exponents: the same bits, whatever the order
  // in which data arrives. For the communication hook; `tensor` need not be contiguous.
  WorkPointer allreduce_block_scaled(at::Tensor& tensor);

 private:
  struct Started {
    std::shared_ptr<Communicator> communicator;  // close() may come at any time
    SwitchWork::Call call = {};
    std::vector<Request> requests = {};
  };

  void end();
  // The communicator for this call, or nullptr: the call goes to the inner group.
  std::shared_ptr<Communicator> route(const CallKind& kind);
  WorkPointer finish_start(const CallKind& kind, Started started);
  WorkPointer allreduce_of(std::vector<at::Tensor>& tensors, const c10d::ReduceOp& op,
                           std::chrono::milliseconds timeout, c10d::OpType type,
                           wire::Encoding encoding, const std::function<WorkPointer()>& inner);
  WorkPointer gather_parts(std::vector<std::vector<at::Tensor>> outputs,
                           std::vector<at::Tensor> inputs, std::chrono::milliseconds timeout,
                           c10d::OpType type, const std::function<WorkPointer()>& inner);
  WorkPointer scatter_parts(std::vector<at::Tensor> outputs,
                            std::vector<std::vector<at::Tensor>> inputs, const c10d::ReduceOp& op,
                            std::chrono::milliseconds timeout, c10d::OpType type);

  const BackendOptions options_;
  BackendPointer inner_;
  Membership membership_;
  const std::shared_ptr<Completer> completer_ = std::make_shared<Completer>();
  mutable std::mutex mutex_;
  std::deque<c10::intrusive_ptr<SwitchWork>> in_flight_;  // and those that ended last
  bool failed_ = false;                                   // an op did
  std::uint64_t to_switch_ = 0;
  std::uint64_t to_inner_ = 0;
};

}  // namespace tributary::torch_backend
