#include "pool/record/message.h"

#include <type_traits>

#include "pool/record/bytes.h"

namespace tributary::pool {
namespace {

class Write {
 public:
  explicit Write(ByteWriter& out) : out_(out) {}
  template <typename T>
  requires std::is_integral_v<T>
  void operator()(T& value) { out_.number(value); }
  void operator()(std::string& value) { out_.text(value); }
  template <std::size_t N>
  void operator()(std::array<std::byte, N>& value) {
    out_.raw(value);
  }
  void operator()(std::vector<std::byte>& value) {
    out_.number(static_cast<std::uint32_t>(value.size()));
    out_.raw(value);
  }
  void operator()(PlacedRecord& r) {
    out_.number(r.id), out_.number(r.offset), out_.number(r.length), out_.number(r.generation);
  }
  template <typename T>
  void operator()(std::vector<T>& values) {
    out_.number(static_cast<std::uint32_t>(values.size()));
    for (T& value : values) (*this)(value);
  }

 private:
  ByteWriter& out_;
};

class Read {
 public:
  explicit Read(ByteReader& in) : in_(in) {}
  template <typename T>
  requires std::is_integral_v<T>
  void operator()(T& value) { value = in_.number<T>(); }
  void operator()(std::string& value) { value = in_.text(kMaxFrameBytes); }
  template <std::size_t N>
  void operator()(std::array<std::byte, N>& value) {
    const auto taken = in_.bytes(N);
    if (taken.size() == N) std::memcpy(value.data(), taken.data(), N);
  }
  void operator()(std::vector<std::byte>& value) {
    const auto taken = in_.bytes(in_.number<std::uint32_t>());
    value.assign(taken.begin(), taken.end());
  }
  void operator()(PlacedRecord& r) {
    r.id = in_.number<std::uint64_t>();
    r.offset = in_.number<std::uint64_t>();
    r.length = in_.number<std::uint32_t>();
    r.generation = in_.number<std::uint32_t>();
  }
  void operator()(std::vector<PlacedRecord>& values) { list(values, 24); }
  void operator()(std::vector<std::uint64_t>& values) { list(values, 8); }

 private:
  // Allocates no memory beyond the bytes that are there.
  template <typename T>
  void list(std::vector<T>& values, std::size_t each_bytes) {
    const auto count = in_.number<std::uint32_t>();
    if (count > in_.left() / each_bytes) {
      in_.bytes(in_.left() + 1);  // makes it not good
      return;
    }
    values.resize(count);
    for (T& value : values) (*this)(value);
  }

  ByteReader& in_;
};

template <std::size_t I = 0>
std::optional<Message> decode_as(std::uint16_t type, ByteReader& in) {
  if constexpr (I == std::variant_size_v<Message>) {
    return std::nullopt;
  } else {
    using M = std::variant_alternative_t<I, Message>;
    if (type != M::kType) return decode_as<I + 1>(type, in);
    M message;
    Read read(in);
    message.each(read);
    if (!in.done()) return std::nullopt;
    return message;
  }
}

}  // namespace

std::vector<std::byte> encode(const Message& message) {
  ByteWriter out;
  out.number(std::uint32_t{0});
  Message copy = message;
  std::visit(
      [&](auto& m) {
        out.number(std::decay_t<decltype(m)>::kType);
        Write write(out);
        m.each(write);
      },
      copy);
  const auto length = static_cast<std::uint32_t>(out.size() - sizeof(std::uint32_t));
  std::memcpy(out.bytes().data(), &length, sizeof length);
  return std::move(out.bytes());
}

std::optional<std::size_t> frame_bytes(std::span<const std::byte> received) {
  if (received.size() < sizeof(std::uint32_t)) return 0;
  std::uint32_t length = 0;
  std::memcpy(&length, received.data(), sizeof length);
  if (length < sizeof(std::uint16_t) || length > kMaxFrameBytes) return std::nullopt;
  return sizeof(std::uint32_t) + length;
}

std::optional<Message> decode(std::span<const std::byte> frame) {
  ByteReader in(frame);
  const auto length = in.number<std::uint32_t>();
  const auto type = in.number<std::uint16_t>();
  if (!in.good() || frame.size() != sizeof length + length) return std::nullopt;
  return decode_as(type, in);
}

}  // namespace tributary::pool
