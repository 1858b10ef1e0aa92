// The layer between frames and engines (protocol rule 20): a front end turns bytes into events, and
// engines' messages into bytes. Engines know neither UDP ports nor queue pairs.
//
//   frame ─▶ owner()  which lcore does the packet's work; another one is handed the frame
//         ─▶ read()   headers: the packet, and the endpoint that it is from
//         ─▶ check()  payload: integrity; what engines don't need of the extensions goes
//                       └▶ Event ─▶ Engine::on_packet()
//   Outgoing ─▶ copies() of a message to a job's group: to all that one frame reaches, or to one
//            ─▶ write()  a copy's bytes, with the job's kind of integrity
//
// A packet loop has one of each kind, as a member: which of them has a frame follows from
// classify(), and each burst is sorted by it. No call is virtual.
//
// docs/architecture.md says how a second one is added.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "aggregator/engine/engine.h"
#include "core/drop_reason.h"
#include "dataplane/frontend/event.h"

namespace tributary::dataplane {

// F::Frame is a frame as classify() has seen it; F::Copy has the `ports` that one leaves by.
template <typename F>
concept FrontEnd = requires(const F& f, F& own, const typename F::Frame& frame, Event& event,
                            const aggregator::Outgoing& message, const typename F::Copy& copy,
                            const aggregator::Members& members, std::span<std::byte> room) {
  // Looks at nothing but which job and plane it is of. nullopt: no job here.
  { f.owner(frame) } -> std::same_as<std::optional<std::uint16_t>>;
  // none, and the event is filled and good but for its payload.
  { f.read(std::uint16_t{}, frame, event) } -> std::same_as<DropReason>;
  { f.check(frame, event) } -> std::same_as<DropReason>;
  { copy.ports } -> std::convertible_to<std::span<const std::uint16_t>>;
  // The copies that a message to the job's group takes.
  { own.copies(message, members) } -> std::convertible_to<std::span<const typename F::Copy>>;
  // The only copy of a message to one endpoint, or to the switch above.
  { f.copy_to(std::span<const std::uint16_t>{}) } -> std::same_as<typename F::Copy>;
  { f.write(message, copy, room).bytes } -> std::convertible_to<std::size_t>;
  { f.write(message, copy, room).why } -> std::convertible_to<DropReason>;  // where it is 0
};

}  // namespace tributary::dataplane
