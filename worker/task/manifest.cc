#include "worker/task/manifest.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace tributary::task {
namespace {

constexpr std::uint64_t kVersion = 1;
constexpr std::uint64_t kMostData = std::uint64_t{1} << 62;
constexpr std::uint64_t kMostPiece = 64 << 20;

std::string hex_digest(const nlohmann::json& value) {
  const std::string text = value.get<std::string>();
  if (text.size() != 64 || text.find_first_not_of("0123456789abcdef") != std::string::npos)
    throw std::invalid_argument("manifest: the digest is no SHA-256 in hexadecimal");
  return text;
}

constexpr std::size_t kMostTensor = 64;

bool is_tensor(const std::string& name) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return !name.empty() && name.size() <= kMostTensor && is_letter(name[0]) &&
         std::all_of(name.begin(), name.end(), [&](char c) {
           return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
         });
}

void check(const Manifest& m) {
  if (m.length > kMostData || m.piece_bytes == 0 || m.piece_bytes > kMostPiece)
    throw std::invalid_argument("manifest: length or piece_bytes is out of range");
  if (m.keep != "sum" && m.keep != "worker" && m.keep != "both")
    throw std::invalid_argument("keep is '" + m.keep + "'; allowed: sum, worker, both");
  if (m.keep == "worker" && m.criterion.needs_norm())
    throw std::invalid_argument(
        "keep is 'worker', and the criterion looks at the norm of a sum; allowed: keep 'sum' or "
        "'both', or most_rounds alone");
  if (!m.publish.empty() && !is_tensor(m.publish))
    throw std::invalid_argument("publish is '" + m.publish +
                                "'; allowed: up to 64 letters, digits, '_', '-' and '.', of which "
                                "a letter is the first, or nothing");
  if (!m.publish.empty() && m.keep == "worker")
    throw std::invalid_argument(
        "keep is 'worker', and publish names a sum; allowed: keep 'sum' or 'both'");
}

}  // namespace

std::string write_manifest(const Manifest& manifest) {
  const auto metadata = nlohmann::json::parse(manifest.metadata, nullptr, false);
  if (metadata.is_discarded()) throw std::invalid_argument("metadata is no JSON");
  const Criterion& c = manifest.criterion;
  nlohmann::json criterion = {{"most_rounds", c.most_rounds}, {"over_rounds", c.over_rounds}};
  if (c.norm_below) criterion["norm_below"] = *c.norm_below;
  if (c.relative_change_below) criterion["relative_change_below"] = *c.relative_change_below;
  nlohmann::json stated = {{"tributary_task", kVersion}, {"length", manifest.length},
                           {"sha256", manifest.digest},  {"piece_bytes", manifest.piece_bytes},
                           {"keep", manifest.keep},      {"criterion", criterion},
                           {"metadata", metadata}};
  if (!manifest.publish.empty()) stated["publish"] = manifest.publish;
  if (manifest.cache) stated["cache"] = true;
  Criterion::of(criterion);
  check(manifest);
  std::string text = stated.dump();
  if (text.size() > kMostManifest)
    throw std::invalid_argument("metadata: the manifest has " + std::to_string(text.size()) +
                                " bytes with them, at most 65536; large descriptions belong into "
                                "the data");
  return text;
}

Manifest parse_manifest(std::span<const std::byte> text) {
  const auto* const first = reinterpret_cast<const char*>(text.data());
  const auto found = nlohmann::json::parse(first, first + text.size(), nullptr, false);
  if (!found.is_object() || found.value("tributary_task", nlohmann::json()) != kVersion)
    throw std::invalid_argument("manifest: not of version 1");
  try {
    Manifest manifest;
    manifest.length = found.at("length").get<std::uint64_t>();
    manifest.digest = hex_digest(found.at("sha256"));
    manifest.piece_bytes = found.at("piece_bytes").get<std::uint64_t>();
    manifest.keep = found.at("keep").get<std::string>();
    manifest.publish = found.value("publish", std::string());
    manifest.criterion = Criterion::of(found.at("criterion"));
    manifest.cache = found.value("cache", false);
    manifest.metadata = found.at("metadata").dump();
    check(manifest);
    return manifest;
  } catch (const nlohmann::json::exception&) {
    throw std::invalid_argument("manifest: a key is missing, or of another type");
  }
}

}  // namespace tributary::task
