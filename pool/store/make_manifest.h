// Looks through a store and records where its records are: a manifest (record/manifest.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pool/record/manifest.h"
#include "pool/store/store.h"

namespace tributary::pool {

enum class DataFormat : std::uint8_t {
  files,  // each object is a record
  tar,    // WebDataset: consecutive members with one key are a record
  fixed,  // records of `record_bytes` behind `header_bytes`
  idx,    // like MNIST's: the header gives the size of records
};

struct ManifestOptions {
  DataFormat format = DataFormat::files;
  std::uint64_t record_bytes = 0;
  std::uint64_t header_bytes = 0;
  std::string match = "*";  // selects objects, like a shell pattern
};

// Store::left_out() says what is not in it. Each request is tried as `retry` says. Throws
// StoreError, and ManifestError that names the object and its mistake.
std::vector<std::byte> make_manifest(Store& store, const ManifestOptions& options,
                                     const Retry& retry = {});

}  // namespace tributary::pool
