// Main's memory between two processes (C3).
#include "worker/task/main_store.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <string>

#include "worker/task/task_error.h"

namespace tributary::task {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

const std::string kTask(64, 'a');
const std::string kRun = "0123456789ab";

class MainStoreTest : public ::testing::Test {
 protected:
  MainStoreTest() {
    std::string name = fs::temp_directory_path() / "main_store.XXXXXX";
    folder = fs::path(mkdtemp(name.data())) / "7";
  }
  ~MainStoreTest() override { fs::remove_all(folder.parent_path()); }
  MainStoreTest(const MainStoreTest&) = delete;
  MainStoreTest& operator=(const MainStoreTest&) = delete;

  void put(const char* name, const std::string& text) const {
    std::ofstream(folder / name) << text;
  }
  static std::string refusal(const std::function<void()>& call) {
    try {
      call();
    } catch (const TaskError& error) {
      return error.what();
    }
    return "";
  }

  fs::path folder;
};

TEST_F(MainStoreTest, C3ASuccessorKnowsTheTaskAndTheResult) {
  const Blobs blobs = {{std::byte{1}, std::byte{2}}, {}, {std::byte{3}}};
  {
    MainStore first(folder);
    EXPECT_FALSE(first.expect(kTask));
    first.distributed(kTask, kRun);
    first.keep(kTask, blobs);
  }
  const MainStore second(folder);
  EXPECT_EQ(second.task(), kTask);
  EXPECT_EQ(second.run(), kRun);
  EXPECT_TRUE(second.expect(kTask));
  EXPECT_EQ(second.kept(), blobs);
}

TEST_F(MainStoreTest, AFolderIsForOneTask) {
  MainStore(folder).distributed(kTask, kRun);
  EXPECT_THAT(refusal([&] { (void)MainStore(folder).expect(std::string(64, 'b')); }),
              HasSubstr("is of task aaaaaaaaaaaa, and this is bbbbbbbbbbbb"));
}

TEST_F(MainStoreTest, WithoutAFolderNothingIsKept) {
  MainStore store("");
  store.distributed(kTask, kRun);
  store.keep(kTask, {{std::byte{1}}});
  EXPECT_TRUE(store.expect(kTask));
  EXPECT_TRUE(store.kept().empty());
}

TEST_F(MainStoreTest, DamagedFilesAreNamed) {
  MainStore store(folder);
  put("result.bin", "ab");
  for (const std::string bad : {R"({"sizes": [3]})", R"({"sizes": [1, 2]})", R"({"sizes": "x"})",
                                R"({"sizes": [-1]})", "[]"}) {
    put("result.json", bad);
    EXPECT_THAT(refusal([&] { (void)store.kept(); }), HasSubstr("result.")) << bad;
  }
  put("task.json", "{");
  EXPECT_THAT(refusal([&] { const MainStore again(folder); }), HasSubstr("task.json: damaged"));
}

TEST_F(MainStoreTest, AFolderThatCannotBeWrittenIsAnError) {
  MainStore store(folder);
  fs::create_directory(folder / "task.json.new");
  EXPECT_THAT(refusal([&] { store.distributed(kTask, kRun); }),
              HasSubstr("task.json.new: Is a directory"));
  EXPECT_EQ(store.task(), "");
}

}  // namespace
}  // namespace tributary::task
