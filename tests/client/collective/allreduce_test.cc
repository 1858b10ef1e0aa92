// `tributary allreduce` without its command line: files in, sum out, mistakes found.
#include "tools/client/collective/allreduce.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tests/client/fake_job.h"
#include "tests/testbed/scratch.h"

namespace tributary::client {
namespace {

using testing::HasSubstr;

NpyArray array_of(std::vector<std::size_t> shape, std::vector<float> values) {
  NpyArray array;
  array.shape = std::move(shape);
  array.data.resize(values.size() * 4);
  std::memcpy(array.data.data(), values.data(), array.data.size());
  return array;
}

AllreduceOptions options_of(std::uint32_t size) {
  AllreduceOptions options;
  options.job.size = size;
  options.count = 1000;
  return options;
}

AllreduceReport run(const AllreduceOptions& options, FakeJob& job) {
  return run_allreduce(options, [&](const CommunicatorOptions& o) { return job.create(o); });
}

std::string failure(const AllreduceOptions& options) {
  FakeJob job(options.job.size);
  try {
    (void)run(options, job);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "none";
}

TEST(Allreduce, SumsFilesIntoAFileOfTheSameShape) {
  const testbed::Scratch dir;
  write_npy(dir.file("a.npy"), array_of({2, 2}, {1, 2, 3, 4}));
  write_npy(dir.file("b.npy"), array_of({2, 2}, {10, 20, 30, 40}));
  AllreduceOptions options = options_of(2);
  options.inputs = {dir.file("a.npy"), dir.file("b.npy")};
  options.output = dir.file("sum.npy");
  FakeJob job(2);
  const AllreduceReport report = run(options, job);
  EXPECT_EQ(report.ranks_here, 2u);
  EXPECT_TRUE(report.identical);
  const NpyArray sum = read_npy(dir.file("sum.npy"));
  EXPECT_EQ(sum.shape, (std::vector<std::size_t>{2, 2}));
  EXPECT_EQ(sum.data, array_of({2, 2}, {11, 22, 33, 44}).data);
}

TEST(Allreduce, ChecksGeneratedData) {
  for (const wire::DType dtype : {wire::DType::float32, wire::DType::int32}) {
    AllreduceOptions options = options_of(3);
    options.dtype = dtype;
    FakeJob job(3);
    const AllreduceReport report = run(options, job);
    EXPECT_EQ(report.result.count(), 1000u);
    EXPECT_EQ(report.wrong, 0u);
    EXPECT_TRUE(report.identical);
  }
}

TEST(Allreduce, EveryCollectiveIsChecked) {
  using wire::Collective;
  for (const auto collective : {Collective::allreduce, Collective::reduce, Collective::broadcast,
                                Collective::all_gather, Collective::reduce_scatter})
    for (const auto dtype :
         {wire::DType::int8, wire::DType::bfloat16, wire::DType::float64, wire::DType::boolean}) {
      SCOPED_TRACE(std::string(wire::name_of(collective)) + " " + wire::name_of(dtype));
      AllreduceOptions options = options_of(3);
      options.collective = collective;
      options.dtype = dtype;
      options.op = wire::ReduceOp::max;
      options.root = 1;
      FakeJob job(3);
      const AllreduceReport right = run(options, job);
      EXPECT_EQ(right.wrong, 0u);
      EXPECT_EQ(right.checked, collective == Collective::all_gather ? 9000u : 3000u);
      EXPECT_TRUE(right.identical);
      FakeJob other(3);
      other.corrupt(1, 0);
      EXPECT_EQ(run(options, other).wrong, 1u);
    }
}

TEST(Allreduce, PartsGetTheShapesThatNumPyUsersExpect) {
  const testbed::Scratch dir;
  AllreduceOptions options = options_of(2);
  options.inputs = {dir.file("a.npy"), dir.file("b.npy")};
  options.output = dir.file("out.npy");
  write_npy(dir.file("a.npy"), array_of({2, 2}, {1, 2, 3, 4}));
  write_npy(dir.file("b.npy"), array_of({2, 2}, {10, 20, 30, 40}));
  options.collective = wire::Collective::reduce_scatter;
  FakeJob first(2);
  run(options, first);
  EXPECT_EQ(read_npy(dir.file("out.npy")).shape, (std::vector<std::size_t>{2}));
  EXPECT_EQ(read_npy(dir.file("out.npy")).data, array_of({2}, {11, 22}).data);
  options.collective = wire::Collective::all_gather;
  FakeJob second(2);
  run(options, second);
  EXPECT_EQ(read_npy(dir.file("out.npy")).shape, (std::vector<std::size_t>{2, 2, 2}));
  write_npy(dir.file("a.npy"), array_of({3}, {1, 2, 3}));
  write_npy(dir.file("b.npy"), array_of({3}, {1, 2, 3}));
  options.collective = wire::Collective::reduce_scatter;
  EXPECT_THAT(failure(options), HasSubstr("3 elements over 2 ranks; the parts must be equal"));
}

TEST(Allreduce, NoticesAWrongElementAndDifferingRanks) {
  FakeJob job(3);
  job.corrupt(1, 0);
  const AllreduceReport report = run(options_of(3), job);
  EXPECT_EQ(report.wrong, 1u);
  EXPECT_FALSE(report.identical);
}

TEST(Allreduce, RefusesInputsThatDoNotBelongTogether) {
  const testbed::Scratch dir;
  write_npy(dir.file("a.npy"), array_of({2, 2}, {1, 2, 3, 4}));
  write_npy(dir.file("b.npy"), array_of({4}, {1, 2, 3, 4}));
  AllreduceOptions options = options_of(2);
  options.inputs = {dir.file("a.npy"), dir.file("b.npy")};
  EXPECT_THAT(failure(options), HasSubstr("b.npy is float32(4,), but "));
  options.inputs = {dir.file("a.npy")};
  EXPECT_THAT(failure(options), HasSubstr("1 input files for 2 ranks; give one .npy for each"));
  options.inputs = {dir.file("a.npy"), dir.file("absent.npy")};
  EXPECT_THAT(failure(options), HasSubstr("absent.npy: cannot open: No such file"));
}

}  // namespace
}  // namespace tributary::client
