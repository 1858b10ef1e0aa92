// Fields of a request on the control socket. An invalid one is an std::invalid_argument that names
// it and what is allowed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tributary::control {

inline std::string text_of(const nlohmann::ordered_json& request, const char* key) {
  const auto it = request.find(key);
  if (it == request.end())
    throw std::invalid_argument(std::string("the request lacks \"") + key + "\"");
  if (!it->is_string())
    throw std::invalid_argument(std::string("\"") + key + "\" must be a string");
  return it->get<std::string>();
}

inline std::uint32_t number_in(const nlohmann::ordered_json& value, const std::string& key) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > 0xFFFFFFFF)
    throw std::invalid_argument("\"" + key + "\" must be a number from 0 to 4294967295");
  return value.get<std::uint32_t>();
}

inline std::optional<std::uint32_t> number_of(const nlohmann::ordered_json& request,
                                              const char* key) {
  const auto it = request.find(key);
  if (it == request.end()) return std::nullopt;
  return number_in(*it, key);
}

inline std::uint32_t needed(const nlohmann::ordered_json& request, const char* key) {
  const auto number = number_of(request, key);
  if (!number) throw std::invalid_argument(std::string("the request lacks \"") + key + "\"");
  return *number;
}

inline void check_keys(const nlohmann::ordered_json& request,
                       std::initializer_list<std::string_view> allowed) {
  std::string names;
  for (const std::string_view name : allowed) names.append(names.empty() ? "" : ", ").append(name);
  for (const auto& [key, value] : request.items())
    if (std::find(allowed.begin(), allowed.end(), key) == allowed.end())
      throw std::invalid_argument(std::string("unknown key '").append(key).append("'; allowed: ") +
                                  names);
}

}  // namespace tributary::control
