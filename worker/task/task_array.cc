#include "worker/task/task_array.h"

#include <array>
#include <charconv>
#include <stdexcept>
#include <string_view>

namespace tributary {

std::size_t TaskArray::elements() const {
  std::size_t count = 1;
  for (const std::size_t one : shape) count *= one;
  return count;
}

namespace task {
namespace {

constexpr std::uint64_t kMostHead = 1 << 20;
constexpr std::size_t kLengthBytes = 8;
constexpr std::uint64_t kMostElements = std::uint64_t{1} << 48;
constexpr std::size_t kMostDimensions = 32;

struct Code {
  wire::DType dtype;
  std::string_view text;
};
// numpy.dtype.str of the types that both sides have.
constexpr std::array<Code, 11> kCodes = {{{wire::DType::boolean, "|b1"},
                                          {wire::DType::int8, "|i1"},
                                          {wire::DType::int16, "<i2"},
                                          {wire::DType::int32, "<i4"},
                                          {wire::DType::int64, "<i8"},
                                          {wire::DType::uint8, "|u1"},
                                          {wire::DType::uint32, "<u4"},
                                          {wire::DType::uint64, "<u8"},
                                          {wire::DType::float16, "<f2"},
                                          {wire::DType::float32, "<f4"},
                                          {wire::DType::float64, "<f8"}}};

wire::DType dtype_of(const std::string& text) {
  for (const Code& code : kCodes)
    if (code.text == text) return code.dtype;
  throw std::invalid_argument("arrays: type '" + text.substr(0, 20) + "'");
}

TaskArray read_entry(const nlohmann::json& entry) {
  if (!entry.is_array() || entry.size() != 3 || !entry[0].is_string() || !entry[1].is_string() ||
      !entry[2].is_array() || entry[2].size() > kMostDimensions)
    throw std::invalid_argument("arrays: no name, type and shape");
  TaskArray array;
  array.dtype = dtype_of(entry[1].get<std::string>());
  std::uint64_t elements = 1;
  for (const auto& one : entry[2]) {
    if (!one.is_number_unsigned() || one.get<std::uint64_t>() >= kMostElements)
      throw std::invalid_argument("arrays: damaged shape");
    array.shape.push_back(one.get<std::size_t>());
    if (elements != 0 && array.shape.back() > kMostElements / elements)
      throw std::invalid_argument("arrays: shape is too large");
    elements *= array.shape.back();
  }
  return array;
}

}  // namespace

std::string_view code_of(wire::DType dtype) {
  for (const Code& code : kCodes)
    if (code.dtype == dtype) return code.text;
  return {};
}

void check_array(const TaskArray& array, const char* name) {
  if (code_of(array.dtype).empty())
    throw std::invalid_argument(std::string(name) +
                                " has a type that does not travel; allowed: bool, integers and "
                                "floats of at most 64 bits");
  if (array.bytes.size() != array.elements() * wire::size_of(array.dtype))
    throw std::invalid_argument(std::string(name) + " has " + std::to_string(array.bytes.size()) +
                                " bytes, which are not those of its shape");
}

std::string list_of(const NamedArrays& arrays) {
  std::string text = "[";
  for (const auto& [name, array] : arrays) {
    if (text.size() > 1) text += ", ";
    text.append("[\"").append(name).append("\", \"").append(code_of(array->dtype)).append("\", [");
    for (std::size_t i = 0; i < array->shape.size(); ++i)
      text += (i == 0 ? "" : ", ") + std::to_string(array->shape[i]);
    text += "]]";
  }
  return text + "]";
}

std::vector<std::byte> encode_arrays(const std::string& head, const NamedArrays& arrays) {
  std::vector<std::byte> data;
  for (std::size_t i = 0; i < kLengthBytes; ++i)
    data.push_back(static_cast<std::byte>(std::uint64_t{head.size()} >> (56 - 8 * i)));
  const auto text = std::as_bytes(std::span(head.data(), head.size()));
  data.insert(data.end(), text.begin(), text.end());
  for (const auto& [name, array] : arrays)
    data.insert(data.end(), array->bytes.begin(), array->bytes.end());
  return data;
}

DecodedArrays decode_arrays(std::span<const std::byte> data) {
  if (data.size() < kLengthBytes) throw std::invalid_argument("arrays: too short");
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i)
    length = length << 8 | std::to_integer<std::uint64_t>(data[i]);
  data = data.subspan(kLengthBytes);
  if (length > kMostHead || length > data.size()) throw std::invalid_argument("arrays: no head");
  DecodedArrays decoded;
  const auto* const text = reinterpret_cast<const char*>(data.data());
  decoded.head = nlohmann::json::parse(text, text + length, nullptr, false);
  data = data.subspan(length);
  if (!decoded.head.is_object() || !decoded.head.contains("arrays") ||
      !decoded.head["arrays"].is_array())
    throw std::invalid_argument("arrays: no list of arrays");
  for (const auto& entry : decoded.head["arrays"]) {
    TaskArray array = read_entry(entry);
    const std::size_t size = array.elements() * wire::size_of(array.dtype);
    if (size > data.size()) throw std::invalid_argument("arrays: an array ends too early");
    array.bytes.assign(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(size));
    data = data.subspan(size);
    decoded.arrays.insert_or_assign(entry[0].get<std::string>(), std::move(array));
  }
  if (!data.empty()) throw std::invalid_argument("arrays: bytes too many");
  return decoded;
}

// The shortest digits that read back the same; an exponent below -4 and from 16 on.
std::string python_float(double number) {
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number,
                                 std::chars_format::scientific)
                       .ptr;
  const std::string_view text(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
  const std::size_t e = text.find('e');
  int exponent = 0;
  const std::string_view shown = text.substr(e + (text[e + 1] == '+' ? 2 : 1));
  std::from_chars(shown.data(), shown.data() + shown.size(), exponent);
  if (exponent < -4 || exponent >= 16) return std::string(text);
  std::string digits;
  for (const char c : text.substr(0, e))
    if (c != '-' && c != '.') digits += c;
  const std::string sign = text[0] == '-' ? "-" : "";
  if (exponent < 0)
    return sign + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  const auto whole = static_cast<std::size_t>(exponent) + 1;
  if (digits.size() <= whole) return sign + digits + std::string(whole - digits.size(), '0') + ".0";
  return sign + digits.substr(0, whole) + "." + digits.substr(whole);
}

}  // namespace task
}  // namespace tributary
