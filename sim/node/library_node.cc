#include "sim/node/library_node.h"

#include <algorithm>
#include <utility>

#include "core/invariant.h"
#include "sim/node/world.h"
#include "worker/api/plane_parts.h"

namespace tributary::sim {
namespace {

// A transport that had no room is asked again after this long.
constexpr Duration kCardRetry = Duration::us(200);
constexpr std::uint16_t kLibraryUdpPort = 20'000;
constexpr Duration kLook = Duration::ms(5);
constexpr std::size_t kRetryBytes = std::size_t{1} << 30;

}  // namespace

class LibraryNode::Card : public worker::Transport {
 public:
  Card(const LibraryNode& node, World& world) : node_(node), world_(world) {}

  void take(const FrameRef& frame) { frames_.push_back(frame); }

  void on_start(const wire::StartInfo& info) override {
    start_ = info;
    entered_ = true;
  }
  std::size_t send(std::span<const worker::Datagram> batch) override {
    for (std::size_t i = 0; i < batch.size(); ++i) {
      FrameRef frame = frame_of(card(), world_.frames(), batch[i], false);
      if (world_.send(node_.id(), node_.options().port, std::move(frame)) == SendResult::queue_full)
        return i;
    }
    return batch.size();
  }
  std::size_t receive(const Receiver& receiver) override {
    const std::vector<FrameRef> frames = std::exchange(frames_, {});
    for (const FrameRef& frame : frames) {
      const auto got = packet_of(card(), frame);
      if (const auto* bad = std::get_if<DropReason>(&got)) drops_.add(*bad);
      if (const auto* packet = std::get_if<wire::Packet>(&got)) receiver(*packet);
    }
    return frames.size();
  }
  void wait(Duration /*limit*/) override {}
  void wake() override {}
  [[nodiscard]] std::size_t max_datagram_bytes() const override { return 9000; }
  [[nodiscard]] const DropCounters& drops() const override { return drops_; }
  [[nodiscard]] std::string describe() const override { return node_.name(); }

 private:
  [[nodiscard]] RankCard card() const {
    return {node_.options(), kLibraryUdpPort, start_, 0, entered_};
  }

  const LibraryNode& node_;
  World& world_;
  wire::StartInfo start_;
  bool entered_ = false;
  std::vector<FrameRef> frames_;
  DropCounters drops_;
};

struct LibraryNode::OpenOp {
  std::uint32_t index = 0;
  OpPlan plan;
  std::vector<std::byte> data, output;
  std::shared_ptr<Request::State> state = std::make_shared<Request::State>();
};

LibraryNode::LibraryNode(const WorkerOptions& options, Duration retry_for, const bool& may_leave,
                         LibraryObserver& observer)
    : Node(name_of(options)),
      options_(options),
      retry_for_(retry_for),
      may_leave_(may_leave),
      observer_(observer),
      random_(options.seed) {}

LibraryNode::~LibraryNode() = default;

void LibraryNode::start(Instant now) {
  worker::SessionOptions o;
  o.job = options_.job->id;
  o.rank = options_.rank;
  o.size = options_.job->workers;
  o.plane = options_.job->plane;
  o.nonce = salt_ = random_.next();
  o.join_timeout = options_.job->join_timeout;
  o.op_timeout = options_.job->op_timeout;
  o.loss_group = options_.job->loss_group;
  o.max_datagram_bytes = 9000;
  o.switch_name = "switch";
  auto card = std::make_unique<Card>(*this, world());
  card_ = card.get();
  progress_ = std::make_unique<worker::Progress>(
      std::move(card), o, worker::Progress::RetryOptions{retry_for_, kRetryBytes}, now);
}

// Power that goes takes what others need with it.
void LibraryNode::crash() {
  constexpr bool kRanksCrash = false;  // in a library world
  TRIBUTARY_INVARIANT(kRanksCrash);
}

void LibraryNode::on_frame(std::uint16_t port, const FrameRef& frame, Instant now) {
  if (over_ || port != options_.port) return;
  card_->take(frame);
  advance(now);
}

void LibraryNode::on_wake(Instant now) {
  if (!over_) advance(now);
}

Instant LibraryNode::next_wakeup() const {
  if (over_) return Instant::max();
  if (retry_send_at_ != Instant::max()) return retry_send_at_;
  const Instant at = std::min(progress_->next_wakeup(), look_at_);
  return has_call() ? std::min(at, think_until_) : at;
}

bool LibraryNode::has_call() const {
  return joined_ && next_op_ < options_.job->ops && open_.size() < options_.job->depth;
}

// Everything that can be done at this instant, until nothing is left to do.
void LibraryNode::advance(Instant now) {
  using Turn = worker::Progress::Turn;
  for (bool again = true; again;) {
    while (may_call(now)) call(now);
    if (has_ended_ops() && may_leave_) progress_->leave();
    const Turn turned = progress_->turn(now);
    retry_send_at_ = turned == Turn::blocked ? now + kCardRetry : Instant::max();
    over_ = turned == Turn::over;
    if (!joined_ && progress_->wait_joined(Duration())) {
      joined_ = true;
      if (const auto& failure = progress_->join_failure())
        observer_.on_join_failed(*this, *failure);
    }
    collect();
    again = turned == Turn::again || (turned == Turn::idle && progress_->waits_for_turn()) ||
            (!over_ && may_call(now));
  }
  look_at_ = has_ended_ops() && !may_leave_ ? now + kLook : Instant::max();
}

OpPlan LibraryNode::plan_of(std::uint32_t index) const {
  // A model is opened behind the first op.
  const std::uint32_t place = options_.job->model && index > 0 ? index - 1 : index;
  OpPlan plan = plan_op(*options_.job, options_.workload_seed, place);
  // An op that fails on some ranks before the switch dies is not done again.
  if (plan.values == Values::overflows) plan.values = Values::exact;
  if (index > 0) return plan;
  // Where one rank is done, all have START: otherwise a switch that dies leaves a rank that knows
  // nothing of the others' past.
  plan = {};
  plan.count = 1;
  return plan;
}

// As a communicator does it (worker/api/switches.cc).
void LibraryNode::call(Instant now) {
  auto next = std::make_unique<OpenOp>();
  next->index = next_op_++;
  next->plan = plan_of(next->index);
  const OpPlan& plan = next->plan;
  const std::uint32_t ranks = options_.job->workers;
  next->data.resize(plan.inputs(ranks) * wire::size_of(plan.dtype));
  next->output.resize(plan.outputs(ranks) * wire::size_of(plan.dtype));
  const bool brings = plan.collective != wire::Collective::open ||
                      (options_.rank == plan.root && plan.array != wire::kModelStep);
  if (brings) fill(plan, salt_, next->index, next->data);
  worker::Op op;
  op.data = next->data.data();
  op.output = next->output.data();
  op.count = plan.count;
  op.dtype = plan.dtype;
  op.reduce_op = plan.reduce_op;
  op.collective = plan.collective;
  op.root = plan.root;
  op.array = plan.array;
  const worker::Progress::Agreed agreed = progress_->agreed();
  Request::State& state = *next->state;
  state.cut_by = agreed.number;
  if (plan.scales())
    worker::split_block_scaled(op, options_.rank, ranks, agreed.info, kScaleExponent, state);
  else
    worker::split(op, options_.rank, ranks, agreed.info, state);
  if (wire::concerns_model(plan.collective)) observer_.on_model_call(*this, next->index, plan);
  progress_->reserve(state, {});
  progress_->submit(next->state);
  open_.push_back(std::move(next));
  if (const Duration most = options_.job->think_max; most > Duration())
    think_until_ = now + Duration::ns(random_.below(static_cast<std::uint32_t>(most.to_ns())));
}

void LibraryNode::collect() {
  for (auto at = open_.begin(); at != open_.end();) {
    if (!(*at)->state->done.is_set()) {
      ++at;
      continue;
    }
    const auto ended = std::move(*at);
    at = open_.erase(at);
    observer_.on_op_ended(*this, ended->index, ended->plan,
                          {options_.rank, ended->data, ended->output}, ended->state->failure);
  }
}

std::string LibraryNode::waiting_for(Instant /*now*/) const {
  if (over_) return "has left";
  if (!joined_) return "joins";
  if (!open_.empty())
    return "waits for op " + std::to_string(open_.front()->index) + " of epoch " +
           std::to_string(progress_->epoch());
  return has_ended_ops() ? "has ended its ops" : "thinks before op " + std::to_string(next_op_);
}

}  // namespace tributary::sim
