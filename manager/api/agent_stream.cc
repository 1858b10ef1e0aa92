#include "manager/api/agent_stream.h"

#include <thread>

namespace tributary::manager {
namespace {

constexpr std::chrono::seconds kTurn{1};

void fill(const SwitchExclusions& from, v1::Document& to) {
  for (const auto& [job, ranks] : from) {
    v1::JobExclusions& one = *to.add_exclusions();
    one.set_job(job);
    one.mutable_ranks()->Add(ranks.begin(), ranks.end());
  }
}

// The orders of the jobs whose root the switch says that it is.
HostOrders orders_for(const SwitchReport& report, const HostOrders& all) {
  HostOrders orders;
  if (!report.seats) return orders;
  for (const HostSeat& seat : *report.seats)
    if (const auto order = all.find(seat.job); order != all.end()) orders.insert(*order);
  return orders;
}

void fill(const HostOrders& from, v1::Document& to) {
  for (const auto& [job, order] : from) {
    v1::JobHosts& one = *to.add_hosts();
    one.set_job(job);
    for (const auto& [host, load] : order.loads) (*one.mutable_loads())[host] = load;
    one.mutable_candidates()->Add(order.candidates.begin(), order.candidates.end());
  }
}

}  // namespace

std::string AgentStream::enter(const Identity& caller) {
  v1::SwitchMessage first;
  if (!stream_.Read(&first) || !first.has_registration())
    throw CallError(grpc::StatusCode::INVALID_ARGUMENT, "the first message is no registration");
  const v1::Registration& registration = first.registration();
  if (!caller.may_speak_for(registration.name()))
    throw CallError(grpc::StatusCode::PERMISSION_DENIED,
                    "speaks for switch " + registration.name() + ", and the certificate is of " +
                        caller.text());
  shared_.check_term(registration.highest_term());
  session_ = shared_.cluster.attend(registration_of(registration), shared_.now());
  return registration.name();
}

// Also out of memory the stream alone ends.
void AgentStream::write_documents() {
  try {
    write_until_over();
  } catch (const std::exception&) {
  }
  context_.TryCancel();  // and with it the read
}

void AgentStream::write_until_over() {
  std::uint64_t seen = 0;
  config::Version sent;
  SwitchExclusions sent_excluded;
  HostOrders sent_hosts;
  while (!shared_.cluster.is_over(node_, session_) && !context_.IsCancelled()) {
    v1::Document document;
    shared_.cluster.look([&](const Cluster::View& view) {
      const auto own = view.switches.find(node_);
      if (own == view.switches.end() || own->second.session != session_) return;
      const config::Version version = view.service.version();
      const auto at = view.exclusions.find(node_);
      const SwitchExclusions excluded =
          at == view.exclusions.end() ? SwitchExclusions{} : at->second;
      HostOrders hosts = orders_for(own->second.last, view.hosts.orders());
      if (version == sent && excluded == sent_excluded && hosts == sent_hosts) return;
      sent = version;
      sent_excluded = excluded;
      sent_hosts = std::move(hosts);
      document.set_term(version.term);
      document.set_revision(version.revision);
      document.set_text(view.service.document(node_));
      fill(excluded, document);
      fill(sent_hosts, document);
    });
    // A manager that others follow has nothing more to say.
    const bool decides = shared_.cluster.trouble().empty();
    if (decides && !document.text().empty() && !stream_.Write(document)) break;
    if (!decides) sent = {};
    shared_.cluster.wait_change(seen, kTurn);
  }
}

void AgentStream::leave() noexcept {
  try {
    shared_.cluster.leave(node_, session_);
  } catch (const std::exception&) {
    // Out of memory for the event; the session is over.
  }
}

void AgentStream::run(const Identity& caller) {
  node_ = enter(caller);
  // The session and the writer end with the stream, also where a report throws.
  struct Session {
    explicit Session(AgentStream& stream) : of(stream) {}
    ~Session() {
      of.leave();
      of.context_.TryCancel();
      if (writer.joinable()) writer.join();
    }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
    AgentStream& of;
    std::thread writer;
  } session(*this);
  session.writer = std::thread([this] { write_documents(); });
  v1::SwitchMessage message;
  while (stream_.Read(&message)) {
    if (!message.has_report()) continue;
    try {
      if (!shared_.cluster.report(node_, session_, report_of(message.report()), shared_.now()))
        break;
    } catch (const StoreError&) {
      continue;  // told by the cluster; the agent reports again
    }
  }
}

}  // namespace tributary::manager
