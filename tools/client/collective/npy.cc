// The .npy format: a strict reader of the header's dictionary, and a writer.
#include "tools/client/collective/npy.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <optional>
#include <string_view>

namespace tributary::client {
namespace {

static_assert(std::endian::native == std::endian::little,
              "arrays are used as they are in the file");

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMaxHeaderBytes = 64 << 10;
constexpr std::size_t kMaxDimensions = 32;  // NumPy's own limit

// NumPy has no bfloat16, and there is no uint16 on the wire.
constexpr std::pair<std::string_view, wire::DType> kDescriptions[] = {
    {"<f4", wire::DType::float32}, {"<i4", wire::DType::int32},   {"<f2", wire::DType::float16},
    {"<f8", wire::DType::float64}, {"|i1", wire::DType::int8},    {"<i2", wire::DType::int16},
    {"<i8", wire::DType::int64},   {"|u1", wire::DType::uint8},   {"<u4", wire::DType::uint32},
    {"<u8", wire::DType::uint64},  {"|b1", wire::DType::boolean},
};
// Bits of bfloat16 are written as uint16.
std::string_view description_of(wire::DType dtype) {
  for (const auto& [name, known] : kDescriptions)
    if (dtype == known) return name;
  return "<u2";
}

// Reads the dictionary literal that NumPy writes; Python is not evaluated.
class HeaderReader {
 public:
  explicit HeaderReader(std::string_view text) : text_(text) {}

  void read(NpyArray& array) {
    expect('{');
    while (!accept('}')) {
      const std::string_view key = string();
      expect(':');
      if (key == "descr" && !have_dtype_) {
        array.dtype = dtype();
        have_dtype_ = true;
      } else if (key == "fortran_order" && !have_order_) {
        order();
      } else if (key == "shape" && !have_shape_) {
        array.shape = shape();
        have_shape_ = true;
      } else {
        fail("unexpected or repeated key");
      }
      if (accept(',')) continue;
      expect('}');
      break;
    }
    skip_space();
    if (at_ != text_.size()) fail("text after the dictionary");
    if (!have_dtype_ || !have_order_ || !have_shape_)
      fail("'descr', 'fortran_order' or 'shape' is missing");
    // One dimension or none: both orders are the same bytes.
    if (fortran_order_ && array.shape.size() > 1)
      throw NpyError("is in Fortran order; allowed: C order (numpy.ascontiguousarray)");
  }

 private:
  [[noreturn]] static void fail(const char* what) {
    throw NpyError(std::string("has a malformed header: ") + what);
  }
  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool accept(char c) {
    skip_space();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail("not the dictionary that NumPy writes");
  }
  std::string_view string() {
    const char quote = accept('"') ? '"' : '\'';
    if (quote == '\'') expect('\'');
    const std::size_t end = text_.find(quote, at_);
    if (end == std::string_view::npos) fail("a string does not end");
    const std::string_view out = text_.substr(at_, end - at_);
    at_ = end + 1;
    return out;
  }
  wire::DType dtype() {
    skip_space();
    if (at_ < text_.size() && text_[at_] == '[')
      throw NpyError("has a structured dtype; allowed: plain numbers and bool");
    const std::string_view descr = string();
    for (const auto& [name, dtype] : kDescriptions)
      if (descr == name) return dtype;
    std::string shown(descr.substr(0, 16));
    std::replace_if(
        shown.begin(), shown.end(), [](char c) { return c < 0x20 || c > 0x7E; }, '?');
    std::string known;
    for (const auto& [name, dtype] : kDescriptions)
      known += (known.empty() ? "" : ", ") + std::string(name);
    throw NpyError("has dtype '" + shown + "'; allowed, little-endian: " + known);
  }
  void order() {
    skip_space();
    const std::string_view rest = text_.substr(at_);
    fortran_order_ = rest.starts_with("True");
    if (!fortran_order_ && !rest.starts_with("False")) fail("'fortran_order' is no boolean");
    at_ += fortran_order_ ? 4 : 5;
    have_order_ = true;
  }
  std::vector<std::size_t> shape() {
    std::vector<std::size_t> out;
    expect('(');
    while (!accept(')')) {
      skip_space();
      std::size_t dimension = 0;
      const char* const begin = text_.data() + at_;
      const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), dimension);
      if (error != std::errc{}) fail("a dimension is no number");
      at_ += static_cast<std::size_t>(end - begin);
      if (out.size() == kMaxDimensions) fail("more than 32 dimensions");
      out.push_back(dimension);
      if (accept(',')) continue;
      expect(')');
      break;
    }
    return out;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool have_dtype_ = false;
  bool have_order_ = false;
  bool have_shape_ = false;
  bool fortran_order_ = false;
};

std::optional<std::size_t> product(const std::vector<std::size_t>& factors, std::size_t start) {
  if (std::find(factors.begin(), factors.end(), 0u) != factors.end()) return 0;
  std::size_t out = start;
  for (const std::size_t factor : factors)
    if (__builtin_mul_overflow(out, factor, &out)) return std::nullopt;
  return out;
}

}  // namespace

NpyArray parse_npy(std::span<const std::byte> file) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  constexpr std::size_t kVersionAt = kMagic.size();
  if (text.size() < kVersionAt + 4 || !text.starts_with(kMagic))
    throw NpyError("is not a .npy file; allowed: what numpy.save() writes");
  const auto byte = [&](std::size_t i) { return std::to_integer<std::size_t>(file[i]); };
  const std::size_t major = byte(kVersionAt);
  if ((major != 1 && major != 2) || byte(kVersionAt + 1) != 0)
    throw NpyError("has .npy format version " + std::to_string(major) + "." +
                   std::to_string(byte(kVersionAt + 1)) + "; allowed: 1.0 and 2.0");
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  const std::size_t header_at = kVersionAt + 2 + length_bytes;
  if (text.size() < header_at) throw NpyError("is truncated within its header");
  std::size_t header_bytes = 0;
  for (std::size_t i = 0; i < length_bytes; ++i)
    header_bytes |= byte(kVersionAt + 2 + i) << (8 * i);
  if (header_bytes > kMaxHeaderBytes)
    throw NpyError("announces a header of " + std::to_string(header_bytes) +
                   " bytes; allowed: at most " + std::to_string(kMaxHeaderBytes));
  if (text.size() - header_at < header_bytes) throw NpyError("is truncated within its header");

  NpyArray array;
  HeaderReader(text.substr(header_at, header_bytes)).read(array);
  const auto data = file.subspan(header_at + header_bytes);
  const auto expected = product(array.shape, wire::size_of(array.dtype));
  if (!expected || *expected != data.size())
    throw NpyError("has " + std::to_string(data.size()) + " bytes of data, but its shape " +
                   shape_text(array.shape) + " of " + wire::name_of(array.dtype) + " needs " +
                   (expected ? std::to_string(*expected) : "more than any file holds"));
  array.data.assign(data.begin(), data.end());
  return array;
}

std::string shape_text(const std::vector<std::size_t>& shape) {
  std::string out = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) out += ", ";
    out += std::to_string(shape[i]);
  }
  if (shape.size() == 1) out += ',';
  return out + ')';
}

std::string npy_header(const NpyArray& array) {
  constexpr std::size_t kAlignment = 64;
  constexpr std::size_t kPrefixBytes = kMagic.size() + 4;
  std::string dictionary = "{'descr': '";
  dictionary += description_of(array.dtype);
  dictionary += "', 'fortran_order': False, 'shape': " + shape_text(array.shape) + ", }";
  const std::size_t unpadded = kPrefixBytes + dictionary.size() + 1;
  dictionary.append((kAlignment - unpadded % kAlignment) % kAlignment, ' ');
  dictionary += '\n';
  std::string out(kMagic);
  out += {'\x01', '\x00', static_cast<char>(dictionary.size() & 0xFF),
          static_cast<char>(dictionary.size() >> 8)};
  return out + dictionary;
}

}  // namespace tributary::client
