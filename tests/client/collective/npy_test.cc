// .npy files: what NumPy writes is read, what it would read is written, all else is refused.
#include "tools/client/collective/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "core/prng.h"
#include "tests/testbed/scratch.h"

namespace tributary::client {
namespace {

using testing::HasSubstr;

std::span<const std::byte> bytes(const std::string& text) {
  return std::as_bytes(std::span(text));
}

// A file with this dictionary (padded as NumPy does) and these data bytes.
std::string file(std::string dictionary, std::size_t data_bytes, char major = 1) {
  dictionary += '\n';
  std::string out = "\x93NUMPY";
  out += {major, '\0', static_cast<char>(dictionary.size() & 0xFF),
          static_cast<char>(dictionary.size() >> 8)};
  if (major == 2) out += std::string(2, '\0');
  return out + dictionary + std::string(data_bytes, '\0');
}

std::string error_of(const std::string& text) {
  try {
    (void)parse_npy(bytes(text));
  } catch (const NpyError& error) {
    return error.what();
  }
  return "accepted";
}

constexpr const char* kVector3 = "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }";

// numpy.save() of numpy.arange(6, dtype='<f4').reshape(2, 3), NumPy 1.24.
std::string numpy_file() {
  const std::string header = "\x93NUMPY\x01" + std::string(1, '\0') + "v" + std::string(1, '\0') +
                             "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }" +
                             std::string(58, ' ') + "\n";
  const float values[] = {0, 1, 2, 3, 4, 5};
  return header + std::string(reinterpret_cast<const char*>(values), sizeof values);
}

TEST(Npy, ReadsWhatNumpyWrites) {
  const NpyArray array = parse_npy(bytes(numpy_file()));
  EXPECT_EQ(array.dtype, wire::DType::float32);
  EXPECT_EQ(array.shape, (std::vector<std::size_t>{2, 3}));
  ASSERT_EQ(array.count(), 6u);
  float last = 0;
  std::memcpy(&last, array.data.data() + 20, 4);
  EXPECT_EQ(last, 5.0f);
}

TEST(Npy, WritesWhatNumpyWrites) {
  const std::string golden = numpy_file();
  const NpyArray array = parse_npy(bytes(golden));
  EXPECT_EQ(npy_header(array), golden.substr(0, 128));
}

TEST(Npy, ShapesOfAllRanksRoundTrip) {
  for (const std::vector<std::size_t>& shape : std::vector<std::vector<std::size_t>>{
           {}, {0}, {1}, {7}, {2, 0, 3}, {2, 3, 4}, std::vector<std::size_t>(32, 1)}) {
    NpyArray array;
    array.dtype = wire::DType::int32;
    array.shape = shape;
    std::size_t count = 1;
    for (const std::size_t dimension : shape) count *= dimension;
    array.data.resize(count * 4, std::byte{7});
    std::string text = npy_header(array);
    EXPECT_EQ(text.size() % 64, 0u);
    text.append(reinterpret_cast<const char*>(array.data.data()), array.data.size());
    const NpyArray back = parse_npy(bytes(text));
    EXPECT_EQ(back.dtype, array.dtype);
    EXPECT_EQ(back.shape, array.shape);
    EXPECT_EQ(back.data, array.data);
  }
}

TEST(Npy, EveryTypeRoundTrips) {
  for (std::uint8_t d = 1; d <= wire::kDTypeMax; ++d) {
    NpyArray array;
    array.dtype = static_cast<wire::DType>(d);
    array.shape = {3};
    array.data.resize(3 * wire::size_of(array.dtype), std::byte{1});
    std::string text = npy_header(array);
    text.append(reinterpret_cast<const char*>(array.data.data()), array.data.size());
    if (array.dtype == wire::DType::bfloat16) {
      EXPECT_THAT(text, HasSubstr("'<u2'"));  // NumPy has no name for it
      continue;
    }
    const NpyArray back = parse_npy(bytes(text));
    EXPECT_EQ(back.dtype, array.dtype);
    EXPECT_EQ(back.data, array.data);
  }
}

TEST(Npy, AcceptsOtherSpellingsOfTheSame) {
  EXPECT_EQ(error_of(file(kVector3, 12, 2)), "accepted");
  EXPECT_EQ(error_of(file("{\"shape\":(3,),\"fortran_order\":False,\"descr\":\"<i4\"}", 12)),
            "accepted");
  // One dimension: the order says nothing.
  EXPECT_EQ(error_of(file("{'descr': '<f4', 'fortran_order': True, 'shape': (3,), }", 12)),
            "accepted");
}

TEST(Npy, RefusesOtherArraysAndSaysWhatIsAllowed) {
  const auto with_descr = [](const std::string& descr) {
    return error_of(file("{'descr': " + descr + ", 'fortran_order': False, 'shape': (1,), }", 8));
  };
  EXPECT_EQ(with_descr("'<c8'"),
            "has dtype '<c8'; allowed, little-endian: <f4, <i4, <f2, <f8, |i1, <i2, <i8, |u1, <u4, "
            "<u8, |b1");
  EXPECT_THAT(with_descr("'<u2'"), HasSubstr("has dtype '<u2'"));
  EXPECT_THAT(with_descr("'>f4'"), HasSubstr("has dtype '>f4'"));
  EXPECT_THAT(with_descr("'|O'"), HasSubstr("has dtype '|O'"));
  EXPECT_THAT(with_descr("'\x1b[2J'"), HasSubstr("has dtype '?[2J'"));
  EXPECT_THAT(with_descr("[('a', '<f4')]"), HasSubstr("structured dtype"));
  EXPECT_THAT(error_of(file("{'descr': '<f4', 'fortran_order': True, 'shape': (1, 3), }", 12)),
              HasSubstr("Fortran order; allowed: C order"));
  EXPECT_THAT(error_of(file(kVector3, 12, 3)), HasSubstr("version 3.0; allowed: 1.0 and 2.0"));
}

TEST(Npy, RefusesLies) {
  EXPECT_THAT(error_of(""), HasSubstr("is not a .npy file"));
  EXPECT_THAT(error_of("PK\x03\x04 a zip archive of arrays"), HasSubstr("is not a .npy file"));
  EXPECT_THAT(error_of(file(kVector3, 11)), HasSubstr("has 11 bytes of data, but its shape (3,) of "
                                                      "float32 needs 12"));
  EXPECT_THAT(error_of(file(kVector3, 13)), HasSubstr("has 13 bytes"));
  EXPECT_THAT(error_of(file(kVector3, 0).substr(0, 40)), HasSubstr("truncated within its header"));
  EXPECT_THAT(error_of("\x93NUMPY\x02" + std::string("\0\xFF\xFF\xFF\xFF", 5)),
              HasSubstr("announces a header of 4294967295 bytes"));
  const auto with_shape = [](const std::string& shape) {
    return error_of(file("{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + "}", 8));
  };
  EXPECT_THAT(with_shape("(4611686018427387904, 2)"), HasSubstr("needs more than any file holds"));
  EXPECT_THAT(with_shape("(99999999999999999999999,)"), HasSubstr("a dimension is no number"));
  EXPECT_THAT(with_shape("(-1,)"), HasSubstr("a dimension is no number"));
  EXPECT_THAT(with_shape("(2"), HasSubstr("not the dictionary that NumPy writes"));
  EXPECT_THAT(with_shape("2"), HasSubstr("not the dictionary that NumPy writes"));
  EXPECT_THAT(error_of(file("{'descr': '<f4'}", 4)), HasSubstr("is missing"));
  EXPECT_THAT(error_of(file("{'a': '<f4'}", 4)), HasSubstr("unexpected or repeated key"));
  EXPECT_THAT(error_of(file(std::string(kVector3) + "x", 12)), HasSubstr("text after"));
}

TEST(Npy, DamagedFilesGetAnAnswer) {
  constexpr std::uint64_t kSeed = 7;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Prng prng(kSeed);
  const std::string good = numpy_file();
  int refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string text = good;
    for (std::uint32_t i = 0, n = 1 + prng.below(4); i < n; ++i)
      text[prng.below(static_cast<std::uint32_t>(text.size()))] =
          static_cast<char>(prng.below(256));
    if (prng.below(4) == 0) text.resize(prng.below(static_cast<std::uint32_t>(text.size())));
    refused += error_of(text) == "accepted" ? 0 : 1;
  }
  EXPECT_GT(refused, 10'000);
}

TEST(NpyFile, ReplacesWholeOrNotAtAll) {
  const testbed::Scratch dir;
  const NpyArray array = parse_npy(bytes(numpy_file()));
  write_npy(dir.file("a.npy"), array);
  write_npy(dir.file("a.npy"), array);
  EXPECT_EQ(read_npy(dir.file("a.npy")).data, array.data);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir.file("")),
                          std::filesystem::directory_iterator()),
            1);
  EXPECT_THROW(write_npy(dir.file("absent/a.npy"), array), NpyError);
  std::filesystem::create_directory(dir.file("d"));
  EXPECT_THROW(write_npy(dir.file("d"), array), NpyError);
  EXPECT_FALSE(std::filesystem::exists(dir.file("d.part")));
}

TEST(NpyFile, ErrorsNameThePath) {
  const testbed::Scratch dir;
  std::ofstream(dir.file("x.npy")) << "hello";
  for (const auto& [path, text] : {std::pair(dir.file("absent"), "No such file"),
                                   std::pair(dir.file("x.npy"), "is not a .npy file"),
                                   std::pair(dir.file(""), "is not a regular file")}) {
    try {
      (void)read_npy(path);
      FAIL() << path;
    } catch (const NpyError& error) {
      EXPECT_THAT(error.what(), testing::AllOf(testing::StartsWith(path), HasSubstr(text)));
    }
  }
}

}  // namespace
}  // namespace tributary::client
