// Entering and leaving an epoch: JOIN until START, LEAVE until acknowledged.
#include <array>

#include "worker/session/session.h"
#include "worker/session/start_check.h"

namespace tributary::worker {
namespace {

// A rank that would resume is refused for what has ended the epoch, or keeps the next one from
// following it.
bool ends_epochs(wire::Reason reason) {
  return reason >= wire::Reason::lease_expired;
}

}  // namespace

void Session::poll_join(Instant now, SendBatch& batch) {
  switch (membership_.poll_join(now)) {
    case Membership::Step::wait: return;
    case Membership::Step::give_up:
      return fail(
          join_timed_out({options_.job, options_.rank, options_.join_timeout,
                          options_.switch_name + options_.silence_hint, last_heard_.has_value(),
                          missing_.get(), membership_.last_refusal(), options_.waits_for_job}));
    case Membership::Step::send: break;
  }
  std::array<std::byte, 64> room;
  wire::ExtensionWriter extensions(room);
  extensions.add_nonce(options_.nonce);
  const wire::Resumption& r = options_.resumes;
  const auto step = r.resumes() ? wire::DrainStep::resume : wire::DrainStep::able;
  wire::add_drain(extensions, {step, r.id, r.op, 0});
  if (options_.open) wire::add_open_job(extensions, *options_.open);
  if (options_.run_id != 0) extensions.add_run_id(options_.run_id);
  put(batch, header(wire::PacketType::join), extensions, {}, kNoChunk);
}

void Session::on_packet_joining(const wire::Packet& packet, Instant now) {
  // Every answer to a JOIN carries its nonce; others were meant for an earlier incarnation.
  if (wire::find_nonce(packet.extensions) != options_.nonce) return drop(DropReason::stale_epoch);
  last_heard_ = now;
  switch (packet.header.type) {
    case wire::PacketType::pending: membership_.wait(); return missing_.narrow(packet);
    case wire::PacketType::start: return on_start(packet, now);
    case wire::PacketType::nack:
      if (membership_.refuse(packet.header, now) &&
          !(options_.fail_if_taken && membership_.is_taken()))
        return;
      // A rank may come to open it.
      if (options_.waits_for_job && packet.header.reason == wire::Reason::unknown_job) return;
      return fail(ends_epochs(packet.header.reason) ? aborted(packet) : refused(packet, options_));
    default: return drop(DropReason::bad_type);
  }
}

std::string Session::taken_by() const {
  if (state_ != SessionState::joining) return {};
  const wire::Header& said = membership_.last_refusal();
  if (said.reason == wire::Reason::other_run) return waits_for_other_run(said);
  return membership_.is_taken() ? already_here(options_.rank, said) : std::string();
}

void Session::on_start(const wire::Packet& packet, Instant now) {
  const auto info = wire::find_start_info(packet.extensions);
  if (!info || packet.header.epoch == 0) return drop(DropReason::bad_extension);
  const bool placed = membership_.admit(packet.header);
  const bool fragments = (packet.header.flags & wire::kFlagFragments) != 0;
  if (const std::string why = object_to_start(*info, fragments, options_); !why.empty())
    return fail(bad_start(options_.job, why));
  if (!placed)
    return fail(bad_start(options_.job, "child " + std::to_string(packet.header.child) + " of " +
                                            std::to_string(packet.header.fan_in)));
  start_ = *info;
  host_udp_port_ = static_cast<std::uint16_t>(packet.header.slot);
  state_ = SessionState::running;
  missing_.clear();
  excluded_ = {};
  last_sent_ = now;
  first_seq_ = packet.header.seq;
  sizes_ = {packet.header.chunk, packet.header.op};
  flights_.start(start_.shards, start_.window, packet.header.seq, options_.loss_group, now);
  left_out_.start(options_.size, (packet.header.flags & wire::kFlagDegraded) != 0);
  counters_.least_window.set(start_.window);
}

void Session::leave(Instant now) {
  if (state_ == SessionState::leaving || state_ == SessionState::left) return;
  fail_locally("the communicator was closed");
  // A switch that aborted the epoch, refused this rank or never admitted it does not know it.
  state_ = membership_.leave(now) ? SessionState::leaving : SessionState::left;
}

void Session::poll_leave(Instant now, SendBatch& batch) {
  switch (membership_.poll_leave(now)) {
    case Membership::Step::wait: return;
    case Membership::Step::give_up: state_ = SessionState::left; return;
    case Membership::Step::send: break;
  }
  std::array<std::byte, 40> room;
  wire::ExtensionWriter extensions(room);
  if (left_at_.resumes())
    wire::add_drain(extensions, {wire::DrainStep::resume, left_at_.id, left_at_.op, 0});
  wire::Header h = header(wire::PacketType::leave);
  h.op = held_ops_;
  put(batch, h, extensions, {}, kNoChunk);
}

}  // namespace tributary::worker
