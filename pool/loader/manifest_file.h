// A manifest's file, read into memory that child processes share: a file that is written over or
// truncated meanwhile changes nothing.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "pool/record/manifest.h"

namespace tributary::pool {

class ManifestFile {
 public:
  // Throws std::runtime_error that names the file, and what to do if there is none.
  explicit ManifestFile(const std::string& path);
  ~ManifestFile();
  ManifestFile(const ManifestFile&) = delete;
  ManifestFile& operator=(const ManifestFile&) = delete;

  [[nodiscard]] const Manifest& operator*() const { return *manifest_; }
  [[nodiscard]] const Manifest* operator->() const { return &*manifest_; }

 private:
  std::span<std::byte> bytes_;
  std::optional<Manifest> manifest_;
};

// Writes all of it, or nothing. Throws std::runtime_error.
void write_manifest_file(const std::string& path, std::span<const std::byte> bytes);

}  // namespace tributary::pool
