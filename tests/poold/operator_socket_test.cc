// Commands to a node: by its socket, whose users the kernel names, or with the operators' token.
#include "tools/poold/operator_socket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "tests/poold/pool_nodes.h"

namespace tributary::poold {
namespace {

using testing::HasSubstr;

constexpr std::array kCommands = {CommandKind::fill, CommandKind::pin, CommandKind::unpin,
                                  CommandKind::evict, CommandKind::verify};

TEST_F(PoolNodesTimed, L3ConnectionsToTheAddressAreReadOnly) {
  start_all();
  fill_all();
  const std::uint64_t records = servers_[0]->status().records;
  operate(0).command(CommandKind::pin, 0, 1);
  std::vector<std::uint64_t> ids(kRecords);
  std::iota(ids.begin(), ids.end(), 0);
  for (const LinkUse use : {LinkUse::operate, LinkUse::read}) {
    NodeLink reader = link(0, use);
    for (const CommandKind kind : kCommands)
      EXPECT_THAT(refusal_of(reader, kind), HasSubstr("takes commands of operators alone"));
    EXPECT_THAT(reader.status(), HasSubstr("\"records\":" + std::to_string(records)));
    EXPECT_EQ(reader.lookup(ids).size(), records);
  }
  EXPECT_EQ(servers_[0]->status().records, records);
  EXPECT_EQ(servers_[0]->status().denied, 2 * kCommands.size());
  EXPECT_FALSE(servers_[0]->status().fill.running);
  operate(0).command(CommandKind::unpin, 0, kRecords);
  operate(0).command(CommandKind::evict, 0, kRecords);
  EXPECT_EQ(servers_[0]->status().records, 0u);
}

TEST_F(PoolNodesTimed, L3TheOperatorsTokenOpensTheAddress) {
  constexpr const char* kToken = "fedcba9876543210";
  const fs::path file = folder_ / "operators";
  std::ofstream(file) << kToken << "\n";
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
  config_.operator_token_file = file.string();
  start(0);
  const auto denial = [&](const std::string& token) {
    try {
      NodeLink::to_operate(target_of(0), {"", token}).command(CommandKind::evict, 0, kRecords);
    } catch (const StreamError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(denial(kToken), "");
  EXPECT_THAT(denial("0123456789abcdef"), HasSubstr("refuses the operator's token"));
  EXPECT_THAT(denial(""), HasSubstr("takes commands of operators alone"));
  EXPECT_EQ(servers_[0]->status().denied, 2u);
  fs::permissions(file, fs::perms::group_read, fs::perm_options::add);
  EXPECT_THROW(start(1), std::runtime_error) << "others may read it";
  config_.operator_token_file.clear();
  start(1);
  try {
    NodeLink::to_operate(target_of(1), {"", kToken});
    FAIL() << "a node without such a token took one";
  } catch (const StreamError& error) {
    EXPECT_THAT(error.what(), HasSubstr("has no operator_token_file"));
  }
}

// The answer to another user's command, by the node's socket or else its address.
std::string command_as(uid_t user, const LinkTarget& target, const OperatorAccess& access) {
  std::array<int, 2> answer{};
  if (pipe(answer.data()) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    std::string text = "setuid";
    if (setuid(user) == 0) {
      try {
        NodeLink link = NodeLink::to_operate(target, access);
        text = refusal_of(link, CommandKind::evict);
      } catch (const std::exception& error) {
        text = error.what();
      }
    }
    _exit(::write(answer[1], text.data(), text.size()) < 0 ? 1 : 0);
  }
  close(answer[1]);
  std::string text(4096, '\0');
  const ssize_t got = read(answer[0], text.data(), text.size());
  close(answer[0]);
  waitpid(child, nullptr, 0);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return text;
}

TEST_F(PoolNodesTimed, L3TheSocketLetsListedUsersInAlone) {
  // Another user where this one may become it; else this one, whom a node always lets in.
  const bool is_root = geteuid() == 0;
  const uid_t user = is_root ? 54321 : geteuid();
  config_.operators = {std::to_string(user)};
  start(0);
  config_.operators.clear();
  start(1);
  const auto ask = [&](std::size_t node) {
    return command_as(user, target_of(node), {operate_socket_of(config_.nodes[node]), ""});
  };
  EXPECT_THAT(ask(0), HasSubstr("took it"));
  EXPECT_THAT(ask(1), HasSubstr(is_root ? "takes commands of operators alone" : "took it"));
  EXPECT_TRUE(eventually([this] { return servers_[1]->status().connections == 0; }));
}

TEST_F(PoolNodesTimed, APathThatIsTooLongForASocketIsNone) {
  PoolNodeConfig node;
  node.memory = "/" + std::string(101, 'm');
  EXPECT_EQ(operate_socket_of(node), node.memory + ".sock") << "with the terminating zero";
  node.memory += 'm';
  EXPECT_EQ(operate_socket_of(node), "");
  node.operate_socket = "/run/x.sock";
  EXPECT_EQ(operate_socket_of(node), "/run/x.sock");
}

TEST_F(PoolNodesTimed, TheSocketReplacesNothingButItsOwn) {
  const std::string path = operate_socket_of(config_.nodes[0]);
  start(0);
  EXPECT_TRUE(fs::is_socket(path));
  servers_[0].reset();
  EXPECT_FALSE(fs::exists(path));
  std::ofstream(path) << "a file of value";
  try {
    start(0);
    ADD_FAILURE() << "a file was replaced";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr(path + ": is there already, and no socket of this user"));
  }
  fs::remove(path);
  config_.operators = {"no-such-user-here"};
  EXPECT_THROW(start(0), std::runtime_error);
}

}  // namespace
}  // namespace tributary::poold
