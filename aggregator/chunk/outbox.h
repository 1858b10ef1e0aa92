// The messages that an engine wants to send: a bounded list that a front end turns into frames and
// clears after every call. Payload spans point into engine memory and are valid until the next call
// into the engine.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/endpoint.h"
#include "core/wire/header.h"

namespace tributary::aggregator {

struct Outgoing {
  enum class To : std::uint8_t {
    peer,
    job_group,
    completion_host,  // of the job: inside this switch or another node
    parent,           // of this switch, in the job's tree
    hosted_root,      // `peer`, from the completion engine that this switch hosts for it
  };

  To to = To::peer;
  Endpoint peer;  // To::peer: the destination
  wire::Header header;
  std::size_t extension_bytes = 0;
  std::array<std::byte, wire::kMaxExtensionBytes> extensions;
  std::span<const std::byte> payload;

  [[nodiscard]] std::span<const std::byte> extension_span() const {
    return std::span(extensions).first(extension_bytes);
  }
};

class Outbox {
 public:
  explicit Outbox(std::size_t capacity) : items_(capacity) {}

  // Returns the next free entry, reset but for its extension bytes; nullptr when full (counted).
  Outgoing* add() {
    if (used_ == items_.size()) {
      ++overflows_;
      return nullptr;
    }
    Outgoing& item = items_[used_++];
    item.to = Outgoing::To::peer;
    item.header = {};
    item.extension_bytes = 0;
    item.payload = {};
    return &item;
  }
  void clear() { used_ = 0; }

  [[nodiscard]] std::span<const Outgoing> items() const { return std::span(items_).first(used_); }
  [[nodiscard]] Outgoing& item(std::size_t i) { return items_[i]; }
  [[nodiscard]] Outgoing& last() { return items_[used_ - 1]; }
  [[nodiscard]] std::size_t room() const { return items_.size() - used_; }
  [[nodiscard]] std::uint64_t overflows() const { return overflows_; }

 private:
  std::vector<Outgoing> items_;
  std::size_t used_ = 0;
  std::uint64_t overflows_ = 0;
};

}  // namespace tributary::aggregator
