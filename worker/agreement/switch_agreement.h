// Checks that all ranks of a communicator over several switches share ops out in the same way: they
// list the switches in the same order (A2), and choose among them by the same address bits (A3).
//
// Each rank cuts an array in the order of its own address list. If one rank had another order, a
// switch would sum different shards and no rank would notice. So the first op on every switch is an
// exchange of list places and address bits.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "core/wire/extension.h"
#include "worker/layout/address_bits.h"

namespace tributary::worker {

// A rank's contribution to the maximum over all ranks: the largest address bits and place and,
// negated, the smallest ones, each with a rank that has them.
using PlaceVote = std::array<std::int64_t, 2>;
PlaceVote vote_for_place(std::uint32_t place, std::uint32_t rank, const AddressBits& bits = {});
// The error that the maximum shows; empty if all ranks have the same bits, and the switch at the
// same place.
std::string why_places_differ(const PlaceVote& maximum, const std::string& address);

// A setting that makes the sums of two switches differ for equal arrays; empty if there is none.
// `first` is the START of the list's first switch.
std::string why_switches_differ(const wire::StartInfo& first, const wire::StartInfo& other);

// A rank states its address with an op's first chunk. If that may be finished without the rank,
// while others have its data, a rank whose address differs would not be found.
inline constexpr const char* kMayLackRanks =
    "the job's results may lack ranks (stragglers.degraded_after), which address bits exclude; "
    "allowed: without the one or the other";

// The same for two epochs that follow each other after a drain: ops of a later epoch have been
// checked, and shared out among switches if there are several, by the settings of the first.
std::string why_epochs_differ(const wire::StartInfo& first, const wire::StartInfo& next,
                              bool several_switches);

}  // namespace tributary::worker
