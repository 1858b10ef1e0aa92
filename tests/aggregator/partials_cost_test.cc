// The handbook's table of what partial sums cost is true: each of its rows is tried on a switch
// below another one (T14, rule 17).
#include <gmock/gmock.h>

#include <fstream>
#include <sstream>
#include <string>

#include "config/plan/aggregation_memory.h"
#include "tests/aggregator/upstream_fixture.h"
#include "tests/source_dir.h"

namespace tributary::aggregator {
namespace {

using testing::SizeIs;
using wire::PacketType;

constexpr std::uint32_t kChunkBytes = 1024;

struct Row {
  config::Reduction reduction{};
  wire::Partials partials = wire::Partials::wide;
  std::size_t elements = 0;
  std::size_t from_worker = 0;
  std::size_t between_switches = 0;
  std::size_t result = 0;
  std::size_t slot = 0;
  std::string text;
};

std::vector<Row> documented_rows() {
  std::ifstream file(tests::source_dir() + "/docs/configuration/jobs.md");
  std::vector<Row> rows;
  bool there = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("## ")) there = line == "## What partial sums cost";
    if (!there || !line.starts_with("| ") || line.starts_with("| reduction")) continue;
    std::string type;
    std::string op;
    std::string partials;
    std::string bar;
    Row row;
    std::istringstream(line) >> bar >> type >> op >> bar >> partials >> bar >> row.elements >>
        bar >> row.from_worker >> bar >> row.between_switches >> bar >> row.result >> bar >>
        row.slot;
    row.reduction = {wire::parse_dtype(type).value_or(wire::DType::none),
                     wire::parse_reduce_op(op).value_or(wire::ReduceOp::sum)};
    row.partials = partials == "narrow" ? wire::Partials::narrow : wire::Partials::wide;
    row.text = line;
    rows.push_back(row);
  }
  return rows;
}

class PartialsCost : public LeafTest {
 protected:
  void build_for(const Row& row) {
    config::JobConfig job = leaf_job();
    job.chunk_bytes = kChunkBytes;
    job.partials = row.partials;
    job.reductions = {row.reduction};
    EXPECT_EQ(config::slot_buffer_bytes(job), row.slot);
    build_leaf(job);
    start_info_.chunk_bytes = kChunkBytes;
    start_info_.partials = static_cast<std::uint8_t>(row.partials);
    run_epoch();
  }
  static void describe(const Row& row, std::size_t elements, wire::Header& h) {
    h.dtype = row.reduction.dtype;
    h.reduce_op = row.reduction.op;
    h.element_count = static_cast<std::uint16_t>(elements);
    h.flags = wire::kFlagLast;
  }
  // Elements of one worker, in as many bytes.
  Decision give(const Row& row, std::uint32_t rank, std::size_t elements, std::size_t bytes) {
    wire::Header h = from_worker(PacketType::contribution, rank);
    h.covered = 1;
    describe(row, elements, h);
    const std::vector<std::byte> payload(bytes);
    return deliver({h, {}, payload}, place(rank));
  }
};

TEST_F(PartialsCost, Rule17_TheHandbooksTableIsTrue) {
  const std::vector<Row> rows = documented_rows();
  ASSERT_THAT(rows, SizeIs(9));
  for (const Row& row : rows) {
    SCOPED_TRACE(row.text);
    ASSERT_NE(row.reduction.dtype, wire::DType::none);
    const std::size_t size = wire::size_of(row.reduction.dtype);
    build_for(row);
    // No chunk has more elements, and workers send as many.
    EXPECT_EQ(wire::elements_per_chunk(kChunkBytes, row.reduction.dtype, row.reduction.op,
                                       row.partials, true),
              row.elements);
    EXPECT_EQ(give(row, 0, row.elements + 1, (row.elements + 1) * size).reason,
              DropReason::payload_too_large);
    EXPECT_EQ(give(row, 0, row.elements, row.from_worker).verdict, Verdict::opened);
    EXPECT_EQ(give(row, 2, row.elements, row.from_worker).verdict, Verdict::sent_up);
    ASSERT_THAT(up(), SizeIs(1));
    EXPECT_EQ(up()[0].payload.size(), row.between_switches);

    wire::Header h = from_parent(PacketType::result);
    describe(row, row.elements, h);
    h.covered = 3;
    const std::vector<std::byte> sum(row.result);
    EXPECT_EQ(deliver({h, {}, sum}, parent()).verdict, Verdict::completed);
    ASSERT_THAT(to(Outgoing::To::job_group), SizeIs(1));
    EXPECT_EQ(to(Outgoing::To::job_group)[0].payload.size(), row.result);
  }
}

}  // namespace
}  // namespace tributary::aggregator
