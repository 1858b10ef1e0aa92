#include "tools/agentd/pods/node_link.h"

#include <atomic>
#include <chrono>
#include <exception>

#include "manager/api/channel.h"
#include "manager/api/pod_messages.h"
#include "manager/api/pods.grpc.pb.h"
#include "manager/pods/manifest.h"
#include "tools/agentd/pods/log_reader.h"
#include "tools/daemon/log.h"

namespace tributary::agentd {
namespace {

namespace v1 = manager::v1;
using Stream = grpc::ClientReaderWriter<v1::NodeReport, v1::NodeWork>;

constexpr std::chrono::seconds kTurn{1};

v1::NodeReport message_of(const NodeState& state) {
  v1::NodeReport message;
  manager::fill(state.node, *message.mutable_node());
  message.set_applied(state.result.applied);
  for (const auto& [instance, report] : state.result.instances) {
    v1::InstanceInfo& to = *message.add_instances();
    to.set_instance(instance);
    to.set_phase(name_of(report.phase));
    to.set_message(report.message);
    to.set_idle_ms(static_cast<std::uint64_t>(report.idle.to_ns() / 1'000'000));
    for (const auto& one : report.containers) manager::fill(one, *to.add_containers());
  }
  return message;
}

// Throws config::ConfigErrors for a manifest of another version.
Work work_of(const v1::NodeWork& from) {
  Work work;
  work.revision = from.revision();
  for (const v1::PodWork& pod : from.pods()) {
    WantedPod wanted;
    wanted.instance = pod.instance();
    wanted.pod = manager::parse_manifest(pod.manifest(), "pod " + pod.name()).pods.at(0);
    wanted.devices.assign(pod.devices().begin(), pod.devices().end());
    if (pod.has_seat()) wanted.seat = manager::seat_of(pod.seat());
    wanted.finished = pod.finished();
    work.pods.push_back(std::move(wanted));
  }
  return work;
}

}  // namespace

struct NodeLink::Inside {
  Inside(const manager::Target& to, const NodeOptions& options, const std::string& state,
         Terms& all)
      : managers(to),
        name(options.name),
        terms(all),
        runner(
            options, state, [this] { nudge(); },
            [this](const std::string& problem) {
              tools::write_log(LogLevel::warning, "node " + name + ": " + problem);
            }),
        logs(options.podman, options.name, [this] { nudge(); }),
        thread([this] { run(); }) {}

  void run();
  void serve();
  void read(Stream& stream, grpc::ClientContext& context);
  bool take(const v1::NodeWork& work);
  void report_until_over(Stream& stream);
  void nudge() {
    const std::lock_guard lock(mutex);
    news = true;
    wake.notify_all();
  }
  // False: it is to end.
  bool rest() {
    std::unique_lock lock(mutex);
    ++turns;
    wake.wait_for(lock, kTurn, [this] { return stopping || news || over; });
    news = false;
    return !stopping;
  }
  // Each text once, until there is another one.
  void tell(LogLevel level, const std::string& text) {
    const std::lock_guard lock(mutex);
    if (std::exchange(told, text) == text) return;
    tools::write_log(level, "node " + name + ": " + text);
  }

  manager::Managers managers;  // goes on between two streams
  const std::string name;
  Terms& terms;
  std::mutex mutex;
  std::condition_variable wake;
  std::string told;
  bool stopping = false;
  bool news = false;  // a state has changed
  bool over = false;  // the manager's side of the stream has ended
  std::uint64_t sequence = 0;
  std::atomic<std::uint64_t> turns{0};
  PodRunner runner;
  LogReader logs;
  std::thread thread;  // last: begins when all else is there
};

// False: the stream is to end.
bool NodeLink::Inside::take(const v1::NodeWork& work) {
  try {
    if (!terms.accept(work.term())) {
      tell(LogLevel::warning, "refused work of term " + std::to_string(work.term()) + "; term " +
                                  std::to_string(terms.highest()) + " was seen");
      return false;
    }
    for (const v1::LogQuestion& question : work.logs())
      logs.ask(manager::log_question_of(question));
    if (work.has_pods()) runner.desire(work_of(work));
    if (work.acknowledged() > 0)
      runner.acknowledged(work.acknowledged(),
                          Duration::ms(static_cast<std::int64_t>(work.lease_ms())));
    tell(LogLevel::info, "speaks with the manager at " + managers.target().address + ", term " +
                             std::to_string(work.term()));
    return true;
  } catch (const std::exception& error) {
    tell(LogLevel::error, error.what());
    return false;
  }
}

// Cancels a stream whose work is refused; one that the manager ended keeps the manager's reason.
void NodeLink::Inside::read(Stream& stream, grpc::ClientContext& context) {
  v1::NodeWork work;
  while (stream.Read(&work)) {
    if (take(work)) continue;
    context.TryCancel();
    break;
  }
  const std::lock_guard lock(mutex);
  over = true;
  wake.notify_all();
}

void NodeLink::Inside::report_until_over(Stream& stream) {
  do {
    v1::NodeReport message = message_of(runner.state());
    message.mutable_node()->set_name(name);
    message.set_highest_term(terms.highest());
    message.set_sequence(++sequence);
    for (const auto& [id, answer] : logs.take()) {
      v1::LogAnswer& to = *message.add_logs();
      to.set_id(id);
      to.set_text(answer.text);
      to.set_problem(answer.problem);
    }
    runner.sent(sequence);
    if (!stream.Write(message)) return;
    const std::lock_guard lock(mutex);
    if (over) return;
  } while (rest());
}

void NodeLink::Inside::serve() {
  grpc::ClientContext context;
  {
    const std::lock_guard lock(mutex);
    over = news = false;
  }
  runner.forget_applied();
  const auto stub = v1::NodeAgents::NewStub(managers.channel());
  const auto stream = stub->Attend(&context);
  std::exception_ptr trouble;  // no thread or memory is left
  std::thread reader;
  try {
    reader = std::thread([&] { read(*stream, context); });
    report_until_over(*stream);
  } catch (...) {
    trouble = std::current_exception();
  }
  stream->WritesDone();
  {
    const std::lock_guard lock(mutex);
    if (stopping || trouble) context.TryCancel();
  }
  if (reader.joinable()) reader.join();
  const grpc::Status status = stream->Finish();
  if (trouble) std::rethrow_exception(trouble);
  if (!status.ok() && status.error_code() != grpc::StatusCode::CANCELLED &&
      !manager::is_not_leading(status))
    tell(LogLevel::warning, manager::describe(status, managers.target()));
  managers.go_on();
}

void NodeLink::Inside::run() {
  do {
    try {
      serve();
    } catch (const std::exception& error) {
      tell(LogLevel::error, std::string("cannot speak with the manager: ") + error.what());
    }
    const std::lock_guard lock(mutex);
    over = news = false;
  } while (rest());
}

NodeLink::NodeLink(const manager::Target& target, const NodeOptions& options,
                   const std::string& state, Terms& terms)
    : inside_(std::make_unique<Inside>(target, options, state, terms)) {}

NodeLink::~NodeLink() {
  {
    const std::lock_guard lock(inside_->mutex);
    inside_->stopping = true;
  }
  inside_->wake.notify_all();
  inside_->thread.join();
}

std::uint64_t NodeLink::turns() const {
  return inside_->turns;
}

}  // namespace tributary::agentd
