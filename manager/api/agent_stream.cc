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
  while (!shared_.cluster.is_over(node_, session_) && !context_.IsCancelled()) {
    v1::Document document;
    shared_.cluster.look([&](const Cluster::View& view) {
      const auto own = view.switches.find(node_);
      if (own == view.switches.end() || own->second.session != session_) return;
      const config::Version version = view.service.version();
      const auto at = view.exclusions.find(node_);
      const SwitchExclusions excluded =
          at == view.exclusions.end() ? SwitchExclusions{} : at->second;
      if (version == sent && excluded == sent_excluded) return;
      sent = version;
      sent_excluded = excluded;
      document.set_term(version.term);
      document.set_revision(version.revision);
      document.set_text(view.service.document(node_));
      fill(excluded, document);
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
