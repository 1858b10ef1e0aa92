// What a switch keeps of its manager, and what it makes of a file that a loss of power has damaged.
#include "tools/daemon/assigned_files.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/testbed/scratch.h"
#include "tools/program/output_file.h"

namespace tributary::tools {
namespace {

using testing::HasSubstr;

const std::string kDocument =
    "term: 3\nrevision: 17\nnode: s\ntopology:\n"
    "  switches:\n"
    "    - {name: s, id: 1, address: 10.0.0.1, ports: [{name: a, devargs: net_null0}]}\n"
    "  workers: [{name: w, switch: s, port: a}]\n"
    "  jobs: [{id: 7, name: j, workers: 1}]\n";

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class AssignedFilesTest : public testing::Test {
 protected:
  testbed::Scratch scratch;
  const std::string path = scratch.file("s.assigned");
  const AssignedFiles files{path};
};

TEST_F(AssignedFilesTest, NothingIsKeptAtFirst) {
  const auto kept = files.load(true);
  EXPECT_FALSE(kept.document);
  EXPECT_EQ(kept.latest, config::Version());
  EXPECT_TRUE(kept.damage.empty());
}

TEST_F(AssignedFilesTest, WhatIsKeptComesBack) {
  files.keep_term(3);
  files.keep(kDocument);
  const auto kept = files.load(true);
  ASSERT_TRUE(kept.document);
  EXPECT_EQ(kept.document->text, kDocument);
  EXPECT_EQ(kept.latest, (config::Version{3, 17}));
}

// Empty, cut, and with zeros where its data was.
TEST_F(AssignedFilesTest, ADamagedDocumentIsPutAsideAndItsTermStillCounts) {
  std::string zeros = kDocument;
  zeros.replace(20, std::string::npos, zeros.size() - 20, '\0');
  for (const std::string& damaged : {std::string(), kDocument.substr(0, kDocument.size() / 2),
                                     std::string(kDocument.size(), '\0'), zeros}) {
    files.keep_term(3);
    write_file(path, damaged);
    const auto looked = files.load(false);
    EXPECT_EQ(looked.damage.size(), 1u);
    EXPECT_EQ(content(path), damaged) << "a look changes nothing";
    const auto kept = files.load(true);
    EXPECT_FALSE(kept.document);
    EXPECT_EQ(kept.latest, (config::Version{3, 0})) << "an older manager is still refused";
    ASSERT_EQ(kept.damage.size(), 1u);
    EXPECT_THAT(kept.damage[0], HasSubstr("s.assigned: is damaged ("));
    EXPECT_THAT(kept.damage[0], HasSubstr("kept as " + path + ".damaged"));
    EXPECT_FALSE(std::filesystem::exists(path));
    EXPECT_EQ(content(path + ".damaged"), damaged);
  }
}

TEST_F(AssignedFilesTest, ADamagedTermIsPutAside) {
  files.keep(kDocument);
  for (const char* text : {"", "3", "3x\n", "-1\n", "99999999999999999999\n"}) {
    write_file(path + ".term", text);
    const auto kept = files.load(true);
    ASSERT_EQ(kept.damage.size(), 1u) << text;
    EXPECT_THAT(kept.damage[0], HasSubstr("s.assigned.term: is damaged (it holds no term)"));
    EXPECT_EQ(kept.latest, (config::Version{3, 17}));
  }
}

TEST_F(AssignedFilesTest, ATermWithoutItsDocumentCountsAndSoDoesOneThatWasForgotten) {
  files.keep(kDocument);
  files.keep_term(4);
  EXPECT_EQ(files.load(true).latest, (config::Version{4, 0}));
  files.keep_term(0);
  EXPECT_EQ(files.load(true).latest, config::Version());
  EXPECT_TRUE(files.load(true).document);
}

TEST_F(AssignedFilesTest, WhatCannotBeKeptIsAnError) {
  const AssignedFiles nowhere("/proc/no/such/folder/s.assigned");
  EXPECT_THROW(nowhere.keep_term(1), std::runtime_error);
  EXPECT_THROW(nowhere.keep(kDocument), std::runtime_error);
}

}  // namespace
}  // namespace tributary::tools
