// Where a file that the user named is written, and what it may not take the place of.
#include "tools/program/output_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <future>
#include <iterator>
#include <stdexcept>

#include "tests/testbed/scratch.h"

namespace tributary::tools {
namespace {

namespace fs = std::filesystem;

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string failure(const std::string& path) {
  try {
    write_file(path, "text");
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "none";
}

TEST(OutputFileTimed, NewAndOldFilesAreWrittenWhole) {
  const testbed::Scratch scratch;
  const std::string path = scratch.file("out");
  const std::string first = "a long first text";
  write_file(path, first);
  EXPECT_EQ(content(path), first);
  write_file(path, {std::as_bytes(std::span(std::string_view("two "))),
                    std::as_bytes(std::span(std::string_view("pieces")))});
  EXPECT_EQ(content(path), "two pieces");
  EXPECT_EQ(std::distance(fs::directory_iterator(scratch.path()), fs::directory_iterator()), 1);
}

TEST(OutputFileTimed, WhatAKilledProcessOfThisNumberLeftIsNoObstacle) {
  const testbed::Scratch scratch;
  const std::string path = scratch.file("out");
  std::ofstream(path + ".part" + std::to_string(getpid())) << "ha";
  write_file(path, "whole");
  EXPECT_EQ(content(path), "whole");
  EXPECT_EQ(std::distance(fs::directory_iterator(scratch.path()), fs::directory_iterator()), 1);
}

TEST(OutputFileTimed, AnOldFileKeepsItsMode) {
  const testbed::Scratch scratch;
  const std::string path = scratch.file("out");
  write_file(path, "old");
  ASSERT_EQ(chmod(path.c_str(), 0640), 0);
  write_file(path, "new");
  struct stat status {};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777u, 0640u);
}

TEST(OutputFileTimed, ASymbolicLinkStaysAndItsTargetIsWritten) {
  const testbed::Scratch scratch;
  const std::string target = scratch.file("target");
  const std::string link = scratch.file("link");
  write_file(target, "a long first text");
  fs::create_symlink("target", link);
  write_file(link, "new");
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(content(target), "new");
}

TEST(OutputFileTimed, APipeIsWrittenInPlace) {
  const testbed::Scratch scratch;
  const std::string path = scratch.file("pipe");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  auto reader = std::async(std::launch::async, [&] { return content(path); });
  write_file(path, "through it");
  EXPECT_EQ(reader.get(), "through it");
  EXPECT_TRUE(fs::is_fifo(path));
}

// As root the old way replaced the machine's /dev/null.
TEST(OutputFileTimed, ADeviceStaysADevice) {
  const testbed::Scratch scratch;
  write_file("/dev/null", "text");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_EQ(failure("/dev/full"), "/dev/full: cannot write: No space left on device");
}

TEST(OutputFileTimed, ErrorsNameTheFileAndTheCause) {
  const testbed::Scratch scratch;
  EXPECT_EQ(failure(scratch.file("none/out")),
            scratch.file("none/out") + ": cannot create: No such file or directory");
  EXPECT_EQ(failure(scratch.path()), scratch.path().string() + ": cannot open: Is a directory");
}

}  // namespace
}  // namespace tributary::tools
