"""The house rules hold in the whole tree. Run by ctest; samples_test.py tests the rules."""
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import builds  # noqa: E402
import classes  # noqa: E402
import includes  # noqa: E402
import requirements  # noqa: E402
import sizes  # noqa: E402
import structure  # noqa: E402
import text_rules  # noqa: E402
import timed  # noqa: E402
import tree  # noqa: E402
import wording  # noqa: E402


class HouseRules(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.texts = tree.load()

    def holds(self, check):
        found = check(self.texts)
        self.assertFalse(found, "\n" + "\n".join(found))

    def test_includes_point_down(self):
        self.holds(includes.check_directions)

    def test_sub_folders_have_an_order(self):
        self.holds(includes.check_sub_folders)

    def test_the_architecture_lists_the_sub_folders(self):
        self.holds(includes.check_architecture)

    def test_folders_are_small(self):
        for near in sizes.near_limits(self.texts):
            print(f"near a limit: {near}", file=sys.stderr)
        self.holds(sizes.check_folders)

    def test_classes_can_be_entered(self):
        self.holds(classes.check_classes)

    def test_dpdk_stays_in_the_dataplane(self):
        self.holds(includes.check_dpdk)

    def test_engines_know_endpoints_alone(self):
        self.holds(includes.check_engines)

    def test_pure_folders_are_pure(self):
        self.holds(includes.check_purity)

    def test_files_are_short(self):
        for lines, path in sizes.long_files(self.texts):
            print(f"longer than most: {lines} {path}", file=sys.stderr)
        self.holds(sizes.check_files)

    def test_suites_with_clocks_are_tests_of_their_own(self):
        self.holds(timed.check_suites)
        self.holds(timed.check_list)

    def test_documents_are_short(self):
        self.holds(sizes.check_documents)

    def test_documents_name_the_actor(self):
        self.holds(text_rules.check_wording)

    def test_product_code_is_in_plain_english(self):
        self.holds(wording.check_product)

    def test_the_changelog_says_all_once(self):
        self.holds(text_rules.check_changelog)

    def test_the_glossary_is_whole(self):
        self.holds(text_rules.check_glossary)

    def test_every_document_is_two_clicks_away(self):
        self.holds(structure.check_index)

    def test_functions_are_short(self):
        self.holds(sizes.check_functions)

    def test_no_leftover_markers(self):
        self.holds(text_rules.check_markers)

    def test_no_machine_paths(self):
        self.holds(text_rules.check_machine_paths)

    def test_tests_never_sleep(self):
        self.holds(text_rules.check_no_sleep_in_tests)

    def test_tests_are_never_skipped(self):
        self.holds(text_rules.check_no_skipped_tests)

    def test_files_say_what_they_are(self):
        self.holds(text_rules.check_opening)

    def test_files_end_with_a_newline(self):
        self.holds(text_rules.check_final_newline)

    def test_sources_are_listed_once(self):
        self.holds(structure.check_source_lists)

    def test_tests_mirror_sources(self):
        self.holds(structure.check_tests_mirror_sources)

    def test_architecture_names_files_that_exist(self):
        self.holds(structure.check_paths_in_architecture)
        self.holds(structure.check_trips)

    def test_requirements_resolve(self):
        self.holds(requirements.check_requirements)

    def test_packages_have_groups(self):
        self.holds(structure.check_packages)

    def test_steps_of_the_check(self):
        self.holds(structure.check_steps)

    def test_top_level(self):
        self.holds(structure.check_top_level)

    def test_system_tests_are_run(self):
        self.holds(structure.check_system_tests_are_run)

    def test_links_between_documents_resolve(self):
        self.holds(structure.check_links)

    def test_formatted(self):
        done = subprocess.run([os.path.join(tree.TOP, "tools", "format"), "--check"],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, "run tools/format\n" + done.stderr[-3000:])

    def test_planted_bugs_fit_the_sources(self):
        done = subprocess.run([os.path.join(tree.TOP, "tools", "mutation-check"), "--check"],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])

    def test_scripts_pass_shellcheck(self):
        scripts = [p for p, text in self.texts.items() if tree.is_shell(text)]
        done = subprocess.run(["shellcheck", "-S", "warning", *scripts], cwd=tree.TOP,
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_both_build_systems_know_the_same(self):
        build = os.environ["TRIBUTARY_CMAKE_BUILD"]
        executables, tests = builds.meson_introspect(tree.TOP)
        found = builds.differences(builds.cmake_executables(build), executables)
        # These read CMake's build directory, so they run under its ctest alone; parts of longer tests
        # are for the gate, which CMake runs.
        alone = {"house_rules", "docs.guides", "docs.names", "docs.operations", "docs.readme", "docs.tasks", "docs.torch", "system.package", "system.units"}
        parts = {name for name in builds.cmake_tests(build) if name.startswith("gate.")}
        found += builds.differences(builds.cmake_tests(build) - alone - parts, tests)
        self.assertFalse(found, "\n" + "\n".join(found))


if __name__ == "__main__":
    unittest.main()
