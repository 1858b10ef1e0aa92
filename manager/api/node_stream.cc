#include "manager/api/node_stream.h"

#include <thread>

#include "manager/api/pod_messages.h"
#include "manager/pods/names.h"

namespace tributary::manager {
namespace {

constexpr std::chrono::seconds kTurn{1};
}  // namespace

void NodeStream::enter(const v1::NodeReport& first, const Identity& caller) {
  node_ = first.node().name();
  if (!is_name(node_))
    throw CallError(grpc::StatusCode::INVALID_ARGUMENT,
                    std::string("the node's name has to be ") + kAllowedNames);
  if (!caller.may_speak_for(node_))
    throw CallError(grpc::StatusCode::PERMISSION_DENIED,
                    "speaks for node " + node_ + ", and the certificate is of " + caller.text());
  shared_.check_term(first.highest_term());
  shared_.cluster.look([&](const Cluster::View& view) {
    for (const auto& worker : view.service.admission().topology().workers) {
      if (worker.name == node_ || (leaf_.empty() && worker.node == node_))
        leaf_ = worker.attached_to;
      if (worker.node == node_)
        ports_.push_back({.name = kPortPrefix + worker.name, .kind = kPortKind});
    }
  });
  session_ = pods_.attend(node_);
}

bool NodeStream::write(std::uint64_t acknowledged) {
  const std::lock_guard lock(writing_);
  v1::NodeWork work;
  work.set_term(
      shared_.cluster.look([](const Cluster::View& view) { return view.service.version().term; }));
  work.set_acknowledged(acknowledged);
  bool is_stale = false;
  const bool news = pods_.look([&](const PodCluster::View& view) {
    is_stale = view.is_stale;
    work.set_lease_ms(static_cast<std::uint64_t>(view.book.limits().lease.to_ns() / 1'000'000));
    const PodBook::Work wanted = view.book.work(node_);
    work.set_revision(wanted.revision);
    if (wanted.revision == sent_) return false;
    fill(wanted, work);
    return true;
  });
  if (is_stale) return true;  // a node acts by what is decided alone
  for (const LogQuestion& question : pods_.logs().take(node_)) fill(question, *work.add_logs());
  if (!news && acknowledged == 0 && work.logs().empty()) return true;
  sent_ = work.revision();
  return stream_.Write(work);
}

// A manager that others follow gives no work and renews no lease: its store says so.
bool NodeStream::take(const v1::NodeReport& from) {
  for (const v1::LogAnswer& answer : from.logs())
    pods_.logs().answer(node_, answer.id(), log_answer_of(answer));
  NodeReport report = node_report_of(from);
  if (report.figures.leaf.empty()) report.figures.leaf = leaf_;
  auto& devices = report.figures.devices;
  devices.insert(devices.end(), ports_.begin(), ports_.end());
  try {
    if (!pods_.report(node_, session_, std::move(report), shared_.now())) return false;
    if (shared_.cluster.trouble().empty()) return write(from.sequence());
  } catch (const StoreError&) {
    // Told by the cluster; the agent reports again.
  }
  return true;
}

// Also out of memory the stream alone ends.
void NodeStream::write_work() {
  try {
    write_until_over();
  } catch (const std::exception&) {
  }
  context_.TryCancel();  // and with it the read
}

void NodeStream::write_until_over() {
  std::uint64_t seen = 0;
  while (!pods_.is_over(node_, session_) && !context_.IsCancelled()) {
    if (shared_.cluster.trouble().empty() && !write(0)) break;
    pods_.wait_change(seen, kTurn);
  }
}

void NodeStream::run(const Identity& caller) {
  v1::NodeReport report;
  if (!stream_.Read(&report)) return;
  enter(report, caller);
  if (!take(report)) return;
  // Its thread ends with the stream, also where a report throws.
  struct EndWriter {
    explicit EndWriter(NodeStream& of) : stream(of), thread([&of] { of.write_work(); }) {}
    ~EndWriter() {
      stream.context_.TryCancel();
      thread.join();
    }
    EndWriter(const EndWriter&) = delete;
    EndWriter& operator=(const EndWriter&) = delete;
    NodeStream& stream;
    std::thread thread;
  } const writer(*this);
  while (stream_.Read(&report))
    if (!take(report)) break;
}

}  // namespace tributary::manager
