#include "sim/run/simulation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "sim/scenario/scenario_file.h"
#include "sim/scenario/swarm.h"
#include "tests/source_dir.h"

namespace tributary::sim {
namespace {

std::vector<std::string> committed_scenarios() {
  std::vector<std::string> names;
  const auto folder = std::filesystem::path(tests::source_dir()) / "tests/sim/scenarios";
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem());
  std::sort(names.begin(), names.end());
  return names;
}

Scenario committed(const std::string& name) {
  return load_scenario(tests::source_dir() + "/tests/sim/scenarios/" + name + ".yaml");
}

// Under each of the first seeds no promise may be broken; `check` sees what else became of it.
template <typename Check>
void under_seeds(Scenario s, std::uint64_t seeds, Check check) {
  for (s.seed = 1; s.seed <= seeds; ++s.seed) {
    SCOPED_TRACE("seed " + std::to_string(s.seed));
    const Outcome outcome = simulate(s);
    EXPECT_FALSE(outcome.failure) << *outcome.failure;
    check(outcome);
  }
}

std::uint64_t times(const Outcome& outcome, EngineEvent event) {
  return outcome.reach.engine[static_cast<std::size_t>(event)];
}

std::uint64_t times(const Outcome& outcome, HeldEvent event) {
  return outcome.reach.held[static_cast<std::size_t>(event)];
}

class CommittedScenario : public ::testing::TestWithParam<std::string> {};

TEST_P(CommittedScenario, BreaksNoPromise) {
  const Scenario scenario = committed(GetParam());
  const Outcome outcome = simulate(scenario);
  EXPECT_FALSE(outcome.failure) << *outcome.failure;
  EXPECT_GT(outcome.events, 0u);
}
INSTANTIATE_TEST_SUITE_P(All, CommittedScenario, ::testing::ValuesIn(committed_scenarios()),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(Simulation, WithoutFaultsEveryRankGetsAllItsOps) {
  Scenario s;
  s.jobs.resize(2);
  s.jobs[0].workers = 5;
  s.jobs[1].id = 2;
  s.jobs[1].shards = 3;
  s.heal_at = Duration();
  const Outcome outcome = simulate(s);
  EXPECT_FALSE(outcome.failure) << *outcome.failure;
  EXPECT_EQ(outcome.ranks_done, 7u);
  EXPECT_EQ(outcome.sessions_failed, 0u);
  EXPECT_EQ(outcome.ops_done + outcome.reach.overflows, 7u * 8u);
}

// A2, O12: for each of two jobs one plane that is not the first, up and down a tree and on all side
// roads: every rank gets everything, as in a job of one plane.
TEST(Simulation, A2_APlaneOfATreeIsWhatAWholeJobIs) {
  std::uint64_t escalated = 0;
  under_seeds(committed("tree-planes"), 20, [&](const Outcome& outcome) {
    EXPECT_EQ(outcome.ranks_done, 9u);
    EXPECT_GE(outcome.sessions_failed, 4u) << "of those who lost a rank, or a switch";
    escalated += times(outcome, EngineEvent::escalated_deadline);
  });
  EXPECT_GT(escalated, 0u);
}

// O12, rules 6 and 7: between levels nothing arrives at the first try, and nothing is lost for it.
TEST(Simulation, O12_EveryFirstSumAndResultBetweenLevelsLostCostsTimeOnly) {
  under_seeds(committed("storm-between-levels"), 5, [&](const Outcome& outcome) {
    EXPECT_EQ(outcome.ranks_done, 12u);
    EXPECT_EQ(outcome.sessions_failed, 0u);
    EXPECT_EQ(outcome.ops_done + outcome.reach.overflows, 12u * 30u);
    // Four cables between switches, up and down, for every op at least.
    EXPECT_GE(outcome.reach.fault_total(FaultKind::loss), 2u * 4u * 30u);
  });
}

// O5, rule 6: all that any rank contributes is lost once, and asked for and sent again, whether
// losses are found by timers or in groups.
TEST(Simulation, O5_AStormOfResendsCostsTimeOnly) {
  under_seeds(committed("storm-of-resends"), 5, [&](const Outcome& outcome) {
    EXPECT_EQ(outcome.sessions_failed, 0u);
    EXPECT_EQ(outcome.ops_done, 10u * 40u);
    // 16 chunks an op, from each rank.
    EXPECT_GE(outcome.reach.fault_total(FaultKind::loss), 10u * 40u * 16u);
  });
}

// O2, O8, rule 8: another job has every slot for as long as the run lasts.
TEST(Simulation, O8_AStormOfCollisionsCostsTimeOnly) {
  under_seeds(committed("storm-of-collisions"), 3, [&](const Outcome& outcome) {
    EXPECT_EQ(outcome.sessions_failed, 0u);
    EXPECT_EQ(outcome.ops_done, 2u * 2000u + 4u * 40u);
    EXPECT_EQ(times(outcome, EngineEvent::escalated_collision), 40u * 16u) << "every chunk";
    EXPECT_EQ(times(outcome, EngineEvent::forwarded), 4u * 40u * 16u) << "from every rank";
  });
}

// T3, T5, T6: all ranks but one are late, or all; a job that waits has all ranks' data in each sum
// all the same, and no epoch ends.
TEST(Simulation, T3_EverybodyLateAtOnceIsWaitedFor) {
  std::uint64_t degraded = 0;
  under_seeds(committed("everybody-late"), 5, [&](const Outcome& outcome) {
    EXPECT_EQ(outcome.sessions_failed, 0u);
    EXPECT_EQ(outcome.ops_done + outcome.reach.overflows, 8u * 400u);
    EXPECT_GE(times(outcome, EngineEvent::escalated_deadline), 1u);
    degraded += times(outcome, EngineEvent::degraded);
  });
  EXPECT_GE(degraded, 1u) << "job 2 goes on without the late";
}

// O10, rule 12: every chunk of a run overflows, and is delivered all the same, as floating point.
TEST(Simulation, O10_AStormOfOverflowsCostsTimeOnly) {
  under_seeds(committed("storm-of-overflows"), 5, [&](const Outcome& outcome) {
    EXPECT_EQ(outcome.sessions_failed, 0u);
    EXPECT_EQ(outcome.reach.overflows, 0u) << "no op may fail of it";
    EXPECT_EQ(outcome.ops_done, (5u + 3u + 3u) * 40u);
    const auto retries = static_cast<std::size_t>(HostEvent::float_retry);
    EXPECT_GE(outcome.reach.host[retries], 3u * 30u);
    EXPECT_GE(outcome.reach.floats_at_once, 100u);
  });
}

// O10, O12, rule 12: the same below several levels of switches, with a parameter server and
// without.
TEST(Simulation, O10_AStormOfOverflowsInATreeCostsTimeOnly) {
  under_seeds(committed("tree-storm-of-overflows"), 5, [&](const Outcome& outcome) {
    EXPECT_EQ(outcome.sessions_failed, 0u);
    EXPECT_EQ(outcome.reach.overflows, 0u) << "no op may fail of it";
    EXPECT_EQ(outcome.ops_done, (5u + 4u + 4u) * 40u);
    const auto retries = static_cast<std::size_t>(HostEvent::float_retry);
    EXPECT_GE(outcome.reach.host[retries], 3u * 30u);
    EXPECT_GE(outcome.reach.floats_at_once, 100u);
  });
}

// Rule 15: windows that overfill a queue shrink on every rank before many frames are lost; without
// marks they never do. All sums are exact either way.
TEST(Simulation, Rule15_MarksKeepAQueueFromOverflowing) {
  Scenario deaf = committed("congested-uplink");
  deaf.links.mark_bytes = 0;
  std::uint64_t lost_without = 0;
  under_seeds(deaf, 3, [&](const Outcome& outcome) {
    EXPECT_EQ(outcome.ops_done, 8u * 4u);
    EXPECT_EQ(outcome.reach.window_decreases, 0u);
    lost_without += outcome.reach.fault_total(FaultKind::queue_full);
  });
  std::uint64_t lost = 0;
  under_seeds(committed("congested-uplink"), 3, [&](const Outcome& outcome) {
    EXPECT_EQ(outcome.ops_done, 8u * 4u);
    EXPECT_EQ(outcome.sessions_failed, 0u);
    EXPECT_GE(outcome.reach.fault_total(FaultKind::mark), 1u);
    EXPECT_GE(outcome.reach.window_decreases, 8u) << "every rank's";
    EXPECT_EQ(outcome.reach.window_decreases % 8, 0u) << "as often as every other's";
    lost += outcome.reach.fault_total(FaultKind::queue_full);
  });
  EXPECT_GE(lost_without, 1000u);
  EXPECT_LT(lost, lost_without / 4);
}

TEST(Simulation, Rule15_MarksOfEveryLevelReachAllRanksAlike) {
  under_seeds(committed("tree-marks"), 5, [&](const Outcome& outcome) {
    EXPECT_EQ(outcome.sessions_failed, 0u);
    EXPECT_EQ(outcome.ops_done + outcome.reach.overflows, (9u + 4u) * 60u);
    EXPECT_GE(outcome.reach.window_decreases, 100u);
    EXPECT_GE(times(outcome, EngineEvent::marked_data), 1000u);
  });
}

// Rules 1 and 18: every hundredth packet comes from a source that the switch has to refuse.
TEST(Simulation, RefusedPacketsEndNoEpoch) {
  const Scenario s = committed("stray-packets");
  const Outcome outcome = simulate(s);
  EXPECT_FALSE(outcome.failure) << *outcome.failure;
  EXPECT_EQ(outcome.sessions_failed, 0u);
  const auto mismatch = static_cast<std::size_t>(DropReason::sender_mismatch);
  EXPECT_GE(outcome.reach.switch_drops[mismatch], 10u);
  EXPECT_GE(outcome.reach.worker_drops[mismatch], 10u);
}

// Rule 16: a tree that changes under traffic ends epochs of the jobs that it concerns, and no
// other: the checker knows which those are.
TEST(Simulation, Rule16_AChangeOfTreeConcernsItsJobsAlone) {
  under_seeds(committed("tree-changes"), 5, [&](const Outcome& outcome) {
    EXPECT_EQ(outcome.ranks_done, 7u);
    EXPECT_GE(outcome.sessions_failed, 3u);
    EXPECT_GE(outcome.reach.fault_total(FaultKind::worker_move), 1u);
  });
}

// Rule 16, T1: so does a switch that moves, with all that hangs on it; of a job on that switch
// alone it takes no epoch.
TEST(Simulation, Rule16_ASwitchThatMovesConcernsItsJobsAlone) {
  under_seeds(committed("tree-switches-move"), 5, [&](const Outcome& outcome) {
    EXPECT_EQ(outcome.ranks_done, 10u);
    EXPECT_GE(outcome.sessions_failed, 5u);
    EXPECT_GE(outcome.reach.fault_total(FaultKind::switch_move), 5u);
  });
}

// T10, O4, rule 5: parameter servers die, stop and are cut off, one after the other and both at
// once.
TEST(Simulation, T10_KilledServersCostTimeOnly) {
  under_seeds(committed("servers-killed"), 5, [&](const Outcome& outcome) {
    EXPECT_EQ(outcome.sessions_failed, 0u);
    EXPECT_EQ(outcome.ops_done + outcome.reach.overflows, 4u * 300u);
    const auto of = [&](LegEvent e) { return outcome.reach.leg[static_cast<std::size_t>(e)]; };
    EXPECT_GE(of(LegEvent::takeover), 8u);
    EXPECT_GE(of(LegEvent::result), 1000u);
  });
}

// T8, T10, O4, O12: the same above a tree of switches.
TEST(Simulation, T10_KilledServersOfATreeCostTimeOnly) {
  std::uint64_t results = 0;
  under_seeds(committed("tree-servers-killed"), 5, [&](const Outcome& outcome) {
    EXPECT_EQ(outcome.sessions_failed, 0u);
    EXPECT_EQ(outcome.ops_done + outcome.reach.overflows, 10u * 200u);
    const auto of = [&](LegEvent e) { return outcome.reach.tree_leg[static_cast<std::size_t>(e)]; };
    EXPECT_GE(of(LegEvent::takeover), 8u);
    results += of(LegEvent::result);
  });
  EXPECT_GE(results, 3000u)
      << "of all seeds: one has few, whose hosts are out while it has most to do";
}

// T9, T10, T11, T17, rule 5: the engine is on a switch below the root, the parent of those who are
// late, which is late itself; hosts stand still and elections move the engine while ops run.
TEST(Simulation, T10_HostsOnSwitchesCostTimeOnly) {
  under_seeds(committed("tree-hosted"), 5, [&](const Outcome& outcome) {
    EXPECT_EQ(outcome.sessions_failed, 0u);
    EXPECT_EQ(outcome.ops_done + outcome.reach.overflows, 5u * 150u + 5u * 120u);
    const auto of = [&](LegEvent e) { return outcome.reach.tree_leg[static_cast<std::size_t>(e)]; };
    EXPECT_GE(of(LegEvent::takeover), 8u);
    EXPECT_GE(of(LegEvent::result), 300u);
  });
}

// T17, first variant: a host that is late is a straggler to its own parent, and its sum, which the
// root gives up, comes back down to it.
TEST(Simulation, T17_AHostThatIsLateGetsItsOwnSumBack) {
  under_seeds(committed("tree-late-host"), 3, [&](const Outcome& outcome) {
    EXPECT_EQ(outcome.sessions_failed, 0u);
    EXPECT_EQ(outcome.ops_done + outcome.reach.overflows, 5u * 60u);
    const auto late = times(outcome, EngineEvent::escalated_deadline);
    EXPECT_GT(late, 5u);
    const auto of = [&](LegEvent e) { return outcome.reach.tree_leg[static_cast<std::size_t>(e)]; };
    EXPECT_GT(of(LegEvent::result), 5u) << "finished on A";
    // Before A's first sign of life, and with it; none for its lateness. Two shards.
    EXPECT_LE(of(LegEvent::takeover), 2u * 2u);
  });
}

// T3, T5, T6, T15, T18: a late rank, on whatever level, holds no slot and changes no bit.
TEST(Simulation, T3_StragglersOnEveryLevelOfATreeCostTimeOnly) {
  under_seeds(committed("tree-stragglers"), 5, [&](const Outcome& outcome) {
    EXPECT_EQ(outcome.ranks_done, 16u);
    EXPECT_EQ(outcome.sessions_failed, 0u);
    EXPECT_EQ(outcome.ops_done + outcome.reach.overflows, 12u * 40u + 4u * 30u);
    const auto late = times(outcome, EngineEvent::escalated_deadline);
    EXPECT_GT(late, 10u);
  });
}

// T1, T12, T13, rule 14: late by deadline and excluded, in turn and at once, a worker and a switch.
TEST(Simulation, T13_ExclusionChangesNoSum) {
  under_seeds(committed("tree-excluded"), 5, [&](const Outcome& outcome) {
    EXPECT_EQ(outcome.ranks_done, 8u);
    EXPECT_EQ(outcome.sessions_failed, 0u);
    EXPECT_EQ(outcome.ops_done + outcome.reach.overflows, 8u * 60u);
    const auto of = [&](EngineEvent e) { return times(outcome, e); };
    EXPECT_GT(of(EngineEvent::escalated_excluded), 100u);
    EXPECT_GT(of(EngineEvent::escalated_deadline), 0u);
  });
}

// Rule 22, O1, T1: epochs end and follow each other, and callers notice pauses alone.
TEST(Simulation, Rule22_DrainsFailNoOp) {
  under_seeds(committed("tree-drained"), 5, [&](const Outcome& outcome) {
    EXPECT_EQ(outcome.ranks_done, 10u);
    EXPECT_EQ(outcome.sessions_failed, 0u);
    EXPECT_EQ(outcome.ops_done + outcome.reach.overflows, 5u * 60u + 3u * 100u + 2u * 200u);
    EXPECT_GT(outcome.reach.resumptions, 30u);
  });
}

// Rule 24, T1: ranks come and leave between two ops, and come again.
TEST(Simulation, Rule24_ResizesFailNoOp) {
  constexpr std::uint32_t kFirst = 2 * 20 + 4 * 20 + 3 * 20 + 1 * 10 + 5 * 30;
  constexpr std::uint32_t kSecond = 3 * 1 + 2 * 29 + 3 * 30;
  under_seeds(committed("resized"), 5, [&](const Outcome& outcome) {
    EXPECT_EQ(outcome.ranks_done, 8u);
    EXPECT_EQ(outcome.sessions_failed, 0u);
    EXPECT_EQ(outcome.ops_done + outcome.reach.overflows, kFirst + kSecond);
    EXPECT_GE(outcome.reach.resizes, 2u + 3u + 1u + 1u + 2u + 2u);
  });
}

// C4: a name has one value, whatever the network does, and who has it answers.
TEST(Simulation, C4_ValuesComeByNameThroughABadNetwork) {
  under_seeds(committed("tree-named"), 5, [](const Outcome& outcome) {
    EXPECT_EQ(outcome.sessions_failed, 0u);
    // Ops whose sums overflow put none.
    EXPECT_GT(outcome.reach.values_put, 80u);
    EXPECT_LE(outcome.reach.values_put, 60u + 40u);
    EXPECT_GT(outcome.reach.values_got, (5u * 60u + 3u * 40u) / 2);
  });
}
TEST(Simulation, C4_ValuesStayTrueWhereProducersAndSwitchesDie) {
  under_seeds(committed("tree-named-killed"), 5, [](const Outcome& outcome) {
    EXPECT_GT(outcome.sessions_failed, 0u);
    EXPECT_GT(outcome.reach.values_got, 40u);
  });
}

// Rule 21, T9, T16: a late rank is left out where the job allows it, by one host's decision, on
// whatever level it is; all ranks get the same, and no epoch ends.
class DegradedScenario : public ::testing::TestWithParam<const char*> {};
TEST_P(DegradedScenario, T9_ResultsWithoutTheLateAreTheSameForAll) {
  const Scenario s = committed(GetParam());
  std::uint64_t ops = 0;
  for (const JobScenario& job : s.jobs) ops += std::uint64_t{job.workers} * job.ops;
  std::uint64_t degraded = 0;
  std::uint64_t late = 0;
  under_seeds(s, 5, [&](const Outcome& outcome) {
    EXPECT_EQ(outcome.sessions_failed, 0u);
    EXPECT_EQ(outcome.ops_done + outcome.reach.overflows, ops);
    degraded += times(outcome, EngineEvent::degraded);
    late += times(outcome, EngineEvent::late);
  });
  EXPECT_GT(degraded, 20u);
  EXPECT_GT(late, 20u);
}
INSTANTIATE_TEST_SUITE_P(All, DegradedScenario,
                         ::testing::Values("degraded", "degraded-punctual", "degraded-servers",
                                           "tree-degraded", "tree-degraded-undescribed",
                                           "tree-degraded-punctual", "tree-degraded-direct"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// Rule 21: what lacks the ranks below a switch that is dead lacks no other (the checker knows who
// sent in time).
TEST(Simulation, T9_ADeadSwitchCostsOnlyTheRanksBelowIt) {
  for (const char* scenario : {"tree-degraded-crash", "tree-degraded-crash-direct"}) {
    std::uint64_t degraded = 0;
    under_seeds(committed(scenario), 5, [&](const Outcome& outcome) {
      degraded += times(outcome, EngineEvent::degraded);
      EXPECT_GE(outcome.reach.fault_total(FaultKind::switch_crash), 1u);
    });
    EXPECT_GT(degraded, 20u) << scenario;
  }
}

// Found by a long simulation, when each rank's result lacked the other: ranks that disagree get an
// error, however late one of them may be counted.
TEST(Simulation, T9_RanksThatDisagreeGetAnErrorAndNoDegradedResult) {
  const Outcome outcome = simulate(committed("degraded-disagree"));
  EXPECT_FALSE(outcome.failure) << *outcome.failure;
  EXPECT_EQ(outcome.sessions_failed, 2u);
  EXPECT_EQ(times(outcome, EngineEvent::degraded), 0u);
}

TEST(Simulation, TheSameSeedDoesTheSame) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Scenario scenario = draw_scenario(seed);
    const Outcome first = simulate(scenario);
    // Listening must not change anything.
    const Outcome second = simulate(scenario, [](const std::string&) {});
    EXPECT_EQ(first.trace_hash, second.trace_hash) << "seed " << seed;
    EXPECT_EQ(first.events, second.events) << "seed " << seed;
  }
}

// On every machine and in every build type. A change of what the engines send, or of the world,
// needs new values here.
TEST(Simulation, TheSameSeedDoesTheSameEverywhere) {
  struct Known {
    std::uint64_t seed;
    std::uint64_t hash;
  };
  for (const Known& known : {Known{1, 0xed00381b31cf12f8}, Known{42, 0xf58ebd0848b3fd49},
                             Known{1234, 0xad473c09affbb0f1}, Known{10, 0xc4912365fcab48a2}}) {
    const Outcome outcome = simulate(draw_scenario(known.seed));
    EXPECT_EQ(outcome.trace_hash, known.hash)
        << "seed " << known.seed << ": 0x" << std::hex << outcome.trace_hash;
  }
}

// Sums that wait have the bits of those made at once, nothing is sent later or in another order,
// and no data is read when its frame is gone.
TEST(Simulation, WhetherSumsWaitChangesNothing) {
  std::uint64_t over_bursts = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Scenario scenario = draw_scenario(seed);
    scenario.held_frames = 0;
    const Outcome at_once = simulate(scenario);
    EXPECT_FALSE(at_once.failure) << *at_once.failure;
    EXPECT_EQ(times(at_once, HeldEvent::turn_end), 0u);
    for (const std::uint32_t frames : {128u, 3u}) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", " + std::to_string(frames) + " frames");
      scenario.held_frames = frames;
      const Outcome waiting = simulate(scenario);
      EXPECT_EQ(waiting.trace_hash, at_once.trace_hash);
      EXPECT_EQ(waiting.events, at_once.events);
      EXPECT_EQ(waiting.ops_done, at_once.ops_done);
      over_bursts += times(waiting, HeldEvent::over_burst);
    }
  }
  EXPECT_GE(over_bursts, 500u);
}

// More chunks and more data of each than can wait together.
TEST(Simulation, SumsForWhichThereIsNoRoomAreMadeAtOnce) {
  std::uint64_t of_chunks = 0;
  std::uint64_t of_data = 0;
  under_seeds(committed("sums-wait"), 10, [&](const Outcome& outcome) {
    EXPECT_EQ(outcome.sessions_failed, 0u);
    EXPECT_EQ(outcome.ops_done + outcome.reach.overflows, 12u * 12u);
    of_chunks += times(outcome, HeldEvent::queue_full);
    of_data += times(outcome, HeldEvent::pass_full);
  });
  EXPECT_GE(of_chunks, 10u);
  EXPECT_GE(of_data, 10u);
}

// Rule 21: a result takes the place of a sum that is not made yet.
TEST(Simulation, AResultComesWhileDataThatItLacksWaits) {
  std::uint64_t replaced = 0;
  under_seeds(committed("tree-degraded-sums-wait"), 24, [&](const Outcome& outcome) {
    EXPECT_EQ(outcome.sessions_failed, 0u);
    replaced += times(outcome, HeldEvent::replaced);
  });
  EXPECT_GE(replaced, 10u);
}

TEST(Simulation, ARunThatMakesNoProgressSaysWhoWaitsForWhat) {
  Scenario s;
  s.jobs.resize(1);
  s.limit = Duration::us(50);
  const Outcome outcome = simulate(s);
  ASSERT_TRUE(outcome.failure);
  EXPECT_NE(outcome.failure->find("no progress"), std::string::npos) << *outcome.failure;
  EXPECT_NE(outcome.failure->find("job 1 rank 1 joins"), std::string::npos) << *outcome.failure;
}

TEST(Simulation, AHostThatDiesForGoodIsNamedAndTheOthersEnd) {
  Scenario s;
  s.jobs.resize(1);
  s.jobs[0].workers = 3;
  s.jobs[0].think_max = Duration::ms(20);
  s.script.push_back({ScriptAction::crash, ScriptTarget::worker, 1, Duration::ms(5), Duration()});
  const Outcome outcome = simulate(s);
  EXPECT_FALSE(outcome.failure) << *outcome.failure;
  EXPECT_EQ(outcome.ranks_done, 0u);
  EXPECT_GE(outcome.sessions_failed, 2u);
}

}  // namespace
}  // namespace tributary::sim
