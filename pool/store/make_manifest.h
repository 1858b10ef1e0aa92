// Looks through a store and writes down where its records are: a manifest (record/manifest.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pool/record/manifest.h"
#include "pool/store/store.h"

namespace tributary::pool {

enum class DataFormat : std::uint8_t {
  files,  // each object is a record
  tar,    // WebDataset: members in a row with one key are a record
  fixed,  // records of `record_bytes` behind `header_bytes`
  idx,    // as MNIST's: the header says how large records are
};

struct ManifestOptions {
  DataFormat format = DataFormat::files;
  std::uint64_t record_bytes = 0;
  std::uint64_t header_bytes = 0;
  std::string match = "*";  // which objects, as a shell would
};

// Throws StoreError, and ManifestError that names the object and what is wrong with it.
std::vector<std::byte> make_manifest(Store& store, const ManifestOptions& options);

}  // namespace tributary::pool
