// .npy files: what is read is as large as its shape says, and reads the same after being written.
#include <cstring>
#include <vector>

#include "tests/fuzz/target.h"
#include "tools/client/collective/npy.h"

namespace tributary::fuzz {
namespace {

void check(const client::NpyArray& array) {
  std::size_t elements = 1;
  for (const std::size_t dimension : array.shape) elements *= dimension;
  FUZZ_CHECK(array.count() == elements);
  FUZZ_CHECK(array.data.size() == elements * wire::size_of(array.dtype));

  const std::string header = client::npy_header(array);
  FUZZ_CHECK(header.size() % 64 == 0);
  std::vector<std::byte> file(header.size() + array.data.size());
  std::memcpy(file.data(), header.data(), header.size());
  if (!array.data.empty())
    std::memcpy(file.data() + header.size(), array.data.data(), array.data.size());
  const client::NpyArray again = client::parse_npy(file);
  FUZZ_CHECK(again.dtype == array.dtype && again.shape == array.shape);
  FUZZ_CHECK(again.data == array.data);
}

}  // namespace
}  // namespace tributary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tributary;
  try {
    fuzz::check(client::parse_npy(fuzz::as_bytes(data, size)));
  } catch (const client::NpyError& error) {
    FUZZ_CHECK(error.what()[0] != '\0');
  }
  return 0;
}
