// The wire format as JSON, for tests that compare it with the independent Scapy encoder and with
// the tables of docs/protocol.md. Field names are those of HeaderV1 and of the extension structs.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

namespace tributary::golden {

std::vector<std::byte> from_hex(const std::string& hex);
std::string to_hex(std::span<const std::byte> bytes);

// {"frame": hex} → what every parser of core/wire makes of the frame, or {"drop": reason, "at":
// layer}.
nlohmann::json describe_frame(std::span<const std::byte> frame);

// The reverse: a frame from the description that describe_frame() gives. Throws on bad input.
std::vector<std::byte> build_frame(const nlohmann::json& description);

// Offsets, sizes and numbers that are part of the wire format.
nlohmann::json describe_layout();

}  // namespace tributary::golden
