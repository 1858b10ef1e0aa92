"""Each house rule finds what it is there to find, and leaves what is right alone."""
import os
import sys
import tempfile
import subprocess
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
import wording  # noqa: E402
import tree  # noqa: E402


class Samples(unittest.TestCase):
    def finds(self, check, path, text, **others):
        texts = {path: text, **others.get("others", {})}
        self.assertEqual(len(check(texts)), 1, check(texts))

    def accepts(self, check, path, text, **others):
        self.assertEqual(check({path: text, **others.get("others", {})}), [])

    def test_classes(self):
        def sizes(*others, **texts):
            return dict(classes.class_sizes({"core/a.h": others[0], **texts}))

        body = """class A final : public B {
         public:
          A() : b_{1}, c_(2) {}
          explicit A(int x);  // ; two
          [[nodiscard]] int f() const { return g({1, 2}); }
          struct Inner { int x; int y = 3; };
          enum class Kind : char { one, two };
         private:
          std::array<int, 2> both_{1, 2};
          using Text = std::string;
        };"""
        self.assertEqual(sizes(body), {"core/a.h A": (7, 0), "core/a.h A::Inner": (2, 0)})
        defines = {"core/a.cc": "A::A(int x) {}\n", "core/b.cc": "int A::f() {\n  A::g();\n}\n",
                   "core/c.cc": "void h() {\n  A::g();\n}\n", "pool/d.cc": "int A::f() {}\n"}
        self.assertEqual(sizes(body, **defines)["core/a.h A"], (7, 2))
        larger, classes.LARGER = classes.LARGER, {}
        self.finds(classes.check_classes, "core/a.h", "class A {" + " int x;" * 61 + "};")
        self.accepts(classes.check_classes, "core/a.h", "class A {" + " int x;" * 60 + "};")
        files = {f"core/{i}.cc": "int A::f() {}\n" for i in range(5)}
        self.finds(classes.check_classes, "core/a.h", "class A { int f(); };", others=files)
        classes.LARGER = {"core/a.h A": (70, 4)}
        for members in (69, 71):
            self.finds(classes.check_classes, "core/a.h", "class A {" + " int x;" * members + "};", others={
                f"core/{i}.cc": "int A::f() {}\n" for i in range(4)})
        classes.LARGER = larger

    def test_directions(self):
        rule = includes.check_directions
        self.finds(rule, "core/a.h", '#include "aggregator/engine/engine.h"\n')
        self.finds(rule, "pool/loader/a.h", '#include "config/model/host_choice.h"\n')
        self.accepts(rule, "pool/loader/a.h", '#include "config/text/codec.h"\n')
        self.finds(rule, "aggregator/a.h", '#include "dataplane/port/port.h"\n')
        self.finds(rule, "worker/a.cc", '#include "dataplane/port/port.h"\n')
        self.finds(rule, "dataplane/a.cc", '#include "control/metrics/metrics.h"\n')
        self.finds(rule, "tools/a.cc", '#include "tests/x.h"\n')
        self.finds(rule, "config/a.cc", '#include "load.h"\n')
        self.accepts(rule, "control/a.cc", '#include "dataplane/port/port.h"\n#include <vector>\n')
        self.accepts(rule, "tests/a.cc", '#include "control/metrics/metrics.h"\n')

    def test_sub_folders_have_an_order(self):
        rule = includes.check_directions
        self.finds(rule, "aggregator/kernels/a.cc", '#include "aggregator/engine/engine.h"\n')
        self.finds(rule, "dataplane/host/a.h", '#include "dataplane/loop/packet_loop.h"\n')
        self.finds(rule, "core/a.h", '#include "core/wire/header.h"\n')
        self.finds(rule, "config/text/a.cc", '#include "config/gone/a.h"\n')
        self.accepts(rule, "aggregator/engine/a.cc", '#include "aggregator/kernels/reduce.h"\n')
        self.accepts(rule, "core/wire/a.cc", '#include "core/seq.h"\n')
        self.accepts(rule, "tools/client/a.cc", '#include "tools/cli/app.h"\n')

    def test_sources_stand_in_sub_folders(self):
        rule = includes.check_sub_folders
        self.finds(rule, "dataplane/a.cc", "")
        self.finds(rule, "worker/strange/a.h", "")
        self.finds(rule, "aggregator/kernels/deep/a.h", "")
        self.accepts(rule, "dataplane/loop/a.cc", "")
        self.accepts(rule, "core/a.h", "")
        self.accepts(rule, "tools/strange/a.cc", "")
        self.accepts(rule, "dataplane/sources.txt", "")
        self.accepts(rule, "sim/sim_swarm.cc", "")

    def test_the_architecture_has_every_sub_folder(self):
        rule = includes.check_architecture
        rows = [f"| `{folder}/` | x | " + " ".join(f"`{one}` (pure)" for one in order if one) + " |\n"
                for folder, order in includes.INSIDE.items()]
        self.accepts(rule, "docs/architecture.md", "".join(rows))
        self.finds(rule, "docs/architecture.md", "".join(rows[1:]))
        self.finds(rule, "docs/architecture.md", "".join(rows).replace("`kernels` (pure) ", ""))

    def test_dpdk(self):
        self.finds(includes.check_dpdk, "core/a.h", "#include <rte_mbuf.h>\n")
        self.finds(includes.check_dpdk, "control/a.cc", "#include <rte_eal.h>\n")
        self.finds(includes.check_dpdk, "worker/transport/udp_transport.cc", "#include <rte_eal.h>\n")
        self.accepts(includes.check_dpdk, "dataplane/a.cc", "#include <rte_eal.h>\n")
        self.accepts(includes.check_dpdk, "worker/transport/memif_transport.cc", "#include <rte_eal.h>\n")

    def test_engines_know_endpoints_alone(self):
        rule = includes.check_engines
        for path in ("aggregator/engine/a.cc", "completion/host/a.h"):
            self.finds(rule, path, '#include "core/net/udp_peer.h"\n')
            self.finds(rule, path, '#include "core/net/frame.h"\n')
            self.finds(rule, path, "wire::UdpPeer(0, port, ipv4);\n")
            self.finds(rule, path, "if (from.station() != 0) return;\n")
            self.finds(rule, path, "Endpoint({.front_end = FrontEndId::udp});\n")
        self.accepts(rule, "completion/host/a.cc", '#include "core/net/checksum.h"\n#include "core/endpoint.h"\n'
                     "info.udp_base_port = udp_base_port; from.is_same_host(root); from.port();\n")
        for path in ("dataplane/udp/a.h", "worker/host/a.cc", "sim/node/a.cc", "tests/aggregator/a.cc"):
            self.accepts(rule, path, '#include "core/net/udp_peer.h"\nwire::UdpPeer peer;\n')

    def test_purity(self):
        rule = includes.check_purity
        for name in ("chrono", "thread", "mutex", "iostream", "cstdio", "sys/socket.h"):
            self.finds(rule, "aggregator/a.cc", f"#include <{name}>\n")
        self.finds(rule, "core/a.cc", 'void f() { printf("x"); }\n')
        self.finds(rule, "config/a.h", "#include <fstream>\n")
        self.finds(rule, "config/a.cc", "#include <thread>\n")
        self.accepts(rule, "config/load/load.cc", "#include <fstream>\n")
        self.accepts(rule, "control/a.cc", "#include <thread>\n")

    def test_file_length(self):
        self.finds(sizes.check_files, "core/a.cc", "//\n" * 501)
        self.accepts(sizes.check_files, "core/a.cc", "//\n" * 500)
        self.accepts(sizes.check_files, "docs/a.md", "x\n" * 5000)

    def test_limits_that_are_near_are_told(self):
        def near(texts):
            return [line.split(":")[0] for line in sizes.near_limits(texts)]
        self.assertEqual(near({"core/a.cc": "//\n" * 449, "core/b.cc": "//\n" * 450, "core/c.cc": "//\n" * 501}),
                         ["core/b.cc"])
        for number, told in ((26, []), (27, ["core/x/"]), (30, ["core/x/"]), (31, [])):
            self.assertEqual(near({f"core/x/{i}.cc": "//\n" for i in range(number)}), told)

    def test_function_length(self):
        body = "  f();\n"
        for head in ("int f(int x) {\n", "A::A() : b_(1), c_{2} {\n", "auto f() -> int {\n",
                     "template <typename T>\nrequires(sizeof(T) > 1) int f() noexcept {\n"):
            # 68 lines of body, the head and the closing brace: 70.
            least = 70 - head.count("\n") - 1
            self.accepts(sizes.check_functions, "a.cc", head + body * least + "}\n")
            self.finds(sizes.check_functions, "a.cc", head + body * (least + 1) + "}\n")
        inside = "namespace n {\nclass A {\n  void f() {\n" + body * 69 + "  }\n};\n}\n"
        self.finds(sizes.check_functions, "a.cc", inside)
        self.accepts(sizes.check_functions, "a.cc", "struct A {\n" + "  int a;\n" * 100 + "};\n")
        self.accepts(sizes.check_functions, "a.cc", "int a[] = {\n" + "  1,\n" * 100 + "};\n")
        self.accepts(sizes.check_functions, "a.cc",
                     'void f() {\n  g("}");  // }\n}\n' + "int a;\n" * 100)
        self.finds(sizes.check_functions, "a.py", "def f():\n" + "    g()\n" * 70)

    def test_folder_size(self):
        rule = sizes.check_folders
        full = {f"core/wire/{n}.cc": "" for n in range(sizes.FOLDER_FILES)}
        self.accepts(rule, "core/wire/sources.txt", "", others=full)
        self.accepts(rule, "core/net/a.cc", "", others=full)
        self.finds(rule, "core/wire/one_more.h", "", others=full)

    def test_markers(self):
        self.finds(text_rules.check_markers, "core/a.h", "// TO" + "DO: later\n")
        self.finds(text_rules.check_markers, "docs/a.md", "FIX" + "ME\n")
        self.accepts(text_rules.check_markers, "core/a.h", "// a to" + "do list; 0xXX" + "XX\n")

    def test_machine_paths(self):
        self.finds(text_rules.check_machine_paths, "a.md", "see /ro" + "ot/x\n")
        self.finds(text_rules.check_machine_paths, "a.md", "cd /wor" + "k/main\n")
        self.finds(text_rules.check_machine_paths, "a.md", "cd /ho" + "me/user\n")
        self.accepts(text_rules.check_machine_paths, "a.md", "tests/ho" + "me/x build/wor" + "k/\n")

    def test_sleep(self):
        rule = text_rules.check_no_sleep_in_tests
        self.finds(rule, "tests/a.cc", "std::this_thread::sleep" + "_for(1ms);\n")
        self.finds(rule, "tests/a.py", "time" + ".sleep(1)\n")
        self.finds(rule, "tests/a.cc", "u" + "sleep" + "(1);\n")
        self.finds(rule, "tests/a", "#!/bin/bash\n# a\nsleep" + " 1\n")
        self.accepts(rule, "worker/a.cc", "std::this_thread::sleep" + "_for(1ms);\n")
        self.accepts(rule, "tests/a.py", "# never asleep, the switch sleeps when idle\n")

    def test_skipped(self):
        self.finds(text_rules.check_no_skipped_tests, "tests/a.cc", "GTEST" + "_SKIP();\n")
        self.finds(text_rules.check_no_skipped_tests, "tests/a.cc", "TEST(A, DISABLED" + "_B)\n")

    def test_suites_with_clocks(self):
        rule, path = timed.check_suites, "tests/core/a_test.cc"
        for use in ("std::thread t;", "std::chrono::steady_clock::now();", "const int fd = ::socket(1, 2, 3);",
                    "if (fork() == 0) {}", "const auto later = std::async(f);"):
            self.finds(rule, path, "TEST(Ring, Turns) { " + use + " }\n")
            self.accepts(rule, path, "TEST(RingTimed, Turns) { " + use + " }\n")
            self.accepts(rule, path, "TEST(RingTimedDeathTest, Turns) { " + use + " }\n")
        helper = {"tests/core/near.cc": "void start() { thread_ = std::jthread(f); }\n", "tests/core/near.h": "void start();\n"}
        self.finds(rule, path, '#include "tests/core/near.h"\nTEST_F(Ring, Turns) {}\n', others=helper)
        self.accepts(rule, path, "TEST_F(Ring, Turns) {}\n", others=helper)
        self.accepts(rule, path, 'TEST(Ring, Turns) { is("socket(1)"); }  // std::thread\n')
        self.accepts(rule, path, "TEST(Ring, Turns) { peer.socket(); system_clock::time_point t; }\n")

    def test_folders_with_suites_with_clocks(self):
        rule, path, text = timed.check_list, "tests/core/a_test.cc", "TEST(RingTimed, Turns) {}\n"
        self.finds(rule, path, text)
        self.accepts(rule, path, text, others={timed.LIST: "# folders\ncore\n"})
        self.finds(rule, path, "TEST(Ring, Turns) {}\n", others={timed.LIST: "core\n"})

    def test_opening(self):
        rule = text_rules.check_opening
        self.finds(rule, "core/a.h", "#pragma once\n")
        self.finds(rule, "core/a.h", "// a\n")
        self.finds(rule, "core/a.cc", "#include <vector>\n")
        self.finds(rule, "a.py", "import os\n")
        self.finds(rule, "tools/x", "#!/usr/bin/env bash\nset -e\n")
        self.accepts(rule, "core/a.h", "// What it is.\n#pragma once\n")
        self.accepts(rule, "core/a.cc", '#include "core/a.h"\n')
        self.accepts(rule, "a.py", '#!/usr/bin/python3\n"""A."""\n')

    def test_final_newline(self):
        self.finds(text_rules.check_final_newline, "core/a.cc", "// a")
        self.finds(text_rules.check_final_newline, "core/a.cc", "// a\n\n")
        self.accepts(text_rules.check_final_newline, "core/a.cc", "// a\n")

    def test_source_lists(self):
        rule = structure.check_source_lists
        meson = {"meson.build": "foreach f : ['core', 'tools/x']\n"}
        good = {"core/sources.txt": "# c\ncore/a.cc\ncore/b.cc\n", "core/a.cc": "", **meson}
        self.accepts(rule, "core/b.cc", "", others=good)
        self.finds(rule, "core/c.cc", "", others={**good, "core/b.cc": ""})
        self.finds(rule, "core/sources.txt", "core/a.cc\ncore/gone.cc\n",
                   others={"core/a.cc": "", **meson})
        self.finds(rule, "core/sources.txt", "core/b.cc\ncore/a.cc\n",
                   others={"core/a.cc": "", "core/b.cc": "", **meson})
        self.finds(rule, "tools/x/sources.txt", "core/a.cc\n",
                   others={**good, "core/b.cc": ""})
        self.finds(rule, "new/sources.txt", "new/a.cc\n", others={"new/a.cc": "", **meson})

    def test_sources_by_name_stand_in_both_builds(self):
        rule = structure.check_source_lists
        cmake = {"tools/x/CMakeLists.txt": "add_executable(x main.cc)\n"}
        meson = {"tools/meson.build": "executable('x', 'x/main.cc')\n"}
        self.accepts(rule, "tools/x/main.cc", "", others={**cmake, **meson})
        self.finds(rule, "tools/x/main.cc", "", others=cmake)
        self.finds(rule, "tools/x/main.cc", "", others=meson)

    def test_mirrors(self):
        rule = structure.check_tests_mirror_sources
        self.finds(rule, "tests/core/gone_test.cc", "")
        self.accepts(rule, "tests/core/time_test.cc", "", others={"core/time.h": ""})
        self.accepts(rule, "tests/core/net/frame_test.cc", "", others={"core/net/frame.cc": ""})
        self.accepts(rule, "tests/impair/port_test.cc", "", others={"tools/impair/port.cc": ""})

    def test_mirrors_sub_folders(self):
        rule = structure.check_tests_mirror_sources
        self.finds(rule, "tests/core/frame_test.cc", "", others={"core/net/frame.cc": ""})
        self.finds(rule, "tests/core/wire/frame_test.cc", "", others={"core/net/frame.cc": ""})
        self.accepts(rule, "tests/dataplane_nic/port_test.cc", "",
                     others={"dataplane/port/port.cc": ""})
        self.accepts(rule, "tests/worker_memif/transport/memif_test.cc", "",
                     others={"worker/transport/memif.h": ""})

    def test_packages(self):
        rule = structure.check_packages
        self.accepts(rule, "tools/packages.txt", "# x\ncmake build\ng++ build\ngit test gitty\n")
        self.finds(rule, "tools/packages.txt", "cmake\n")
        self.finds(rule, "tools/packages.txt", "cmake builds\n")
        self.finds(rule, "tools/packages.txt", "git test\ncmake build\n")

    def test_steps_of_the_check(self):
        rule = structure.check_steps
        rows = "a-b  gate  50  it builds\nc  full  60  it runs\n"
        good = f"table='\n{rows}'\na_b() {{\n}}\nc() {{\n}}\n"
        self.accepts(rule, "tools/check", good)
        self.finds(rule, "tools/check", "a() {\n}\n")
        self.finds(rule, "tools/check", good.replace("a_b()", "b()"))
        self.finds(rule, "tools/check", good.replace("c  full", "c  often"))
        self.finds(rule, "tools/check", good.replace("full", "gate"))

    def test_top_level(self):
        self.accepts(structure.check_top_level, "README.md", "")
        self.finds(structure.check_top_level, "sim-seed-7-shrunk.yaml", "")

    def test_system_tests(self):
        rule = structure.check_system_tests_are_run
        builds_of_a = {
            "tests/CMakeLists.txt": "foreach(name a\n  package)\n  tributary_pytest(system.${name} x)\n",
            "tests/meson.build": "foreach name : ['a']\n  test('system.' + name, x)\n",
            "tests/system/test_package.py": ""}
        self.accepts(rule, "tests/system/test_a.py", "", others=builds_of_a)
        without = {**builds_of_a, "tests/meson.build": "foreach name : []\n  test('system.' + name, x)\n"}
        self.finds(rule, "tests/system/test_a.py", "", others=without)
        without = {**builds_of_a, "tests/CMakeLists.txt":
                   "foreach(name package)\n  tributary_pytest(system.${name} x)\n"}
        self.finds(rule, "tests/system/test_a.py", "", others=without)
        del builds_of_a["tests/meson.build"]
        self.finds(rule, "tests/system/test_a.py", "", others=builds_of_a)

    def test_links(self):
        rule = structure.check_links
        self.finds(rule, "README.md", "see [x](docs/gone.md)\n")
        self.finds(rule, "docs/a.md", "see [x](b.md#gone)\n", others={"docs/b.md": "# Here\n"})
        self.finds(rule, "docs/a.md", "see [x](#gone)\n")
        self.accepts(rule, "docs/a.md", "[x](b.md#the-bytes) [y](https://x.org/) [z](../core/)\n",
                     others={"docs/b.md": "# The bytes\n", "core/a.h": ""})

    def test_index(self):
        rule = structure.check_index
        index = {"docs/README.md": "[a](a.md) [o](o/README.md)\n", "docs/a.md": "", "docs/o/README.md": "[b](b.md)\n"}
        self.accepts(rule, "docs/o/b.md", "", others=index)
        self.accepts(rule, "docs/decisions/001-x.md", "", others=index)
        self.finds(rule, "docs/o/c.md", "", others=index)

    def test_documents(self):
        self.accepts(sizes.check_documents, "docs/a.md", "x\n" * 250)
        self.finds(sizes.check_documents, "docs/a.md", "x\n" * 251)
        self.finds(sizes.check_documents, "README.md", "x\n" * 151)
        self.accepts(sizes.check_documents, "CHANGELOG.md", "x\n" * 500)

    def test_wording(self):
        rule = text_rules.check_wording
        self.finds(rule, "docs/a.md", "It is " + "nobody's.\n")
        self.finds(rule, "docs/a.md", "- **Who" + " serves.** The first.\n")
        self.finds(rule, "docs/a.md", "It waits in va" + "in.\n")
        self.accepts(rule, "docs/a.md", "No rank owns it. **Who serves?** Who is late?\n")
        self.accepts(rule, "docs/configuration/jobs.md", "| `x` | so that " + "nobody waits |\n")
        self.accepts(rule, "core/a.cc", "// " + "nobody\n")

    def test_wording_of_product_code(self):
        rule = wording.check_product
        self.finds(rule, "core/a.h", "int f();  // " + "nobody's\n")
        self.finds(rule, "tools/x/a.py", 'f("asks ' + 'somebody")\n')
        self.finds(rule, "core/a.h", "int f();  // han" + "gs on a switch\n")
        self.finds(rule, "control/a.cc", '"Ranks that han' + 'g on it."\n')
        self.finds(rule, "core/a.h", "// " + "Of a port.\n#pragma once\n")
        self.finds(rule, "core/a.h", "#pragma once\n\n  // " + "What it has.\n")
        self.finds(rule, "tools/a.py", 'f("' + 'Who sends.")\n')
        self.finds(rule, "config/a.cc", 'scalar("' + 'Who sends.");\n')
        self.finds(rule, "worker/python/a.py", 'def f():\n    \"\"\"' + 'What it has.\"\"\"\n')
        self.accepts(rule, "core/a.h", "// Ports that are up.\n// What follows is one sentence's end.\n")
        self.accepts(rule, "core/a.h", "int f();  // of a port\nbool nobody_listens();\n")
        self.accepts(rule, "tests/core/a.cc", "// " + "Of nobody.\n")

    def test_changelog(self):
        rule = text_rules.check_changelog
        self.accepts(rule, "CHANGELOG.md", "- A new\n  option.\n- A new\n  port.\n")
        self.finds(rule, "CHANGELOG.md", "## A\n- A new\n  option.\n\n## B\n- A new option.\n")

    def test_glossary(self):
        rule = text_rules.check_glossary
        rows = "".join(f"| **{term}** | one thing |\n" for term in text_rules._TERMS)
        self.accepts(rule, "docs/glossary.md", rows + "| **a**, **b** | a pair |\n")
        self.finds(rule, "docs/glossary.md", rows.replace("**slot**", "slot"))
        self.finds(rule, "docs/glossary.md", rows + "| **slot** | another thing |\n")

    def test_requirements(self):
        rule = requirements.check_requirements
        page = "docs/requirements.md"
        good = "| T6 | late data | built | `core/a.cc` | `tests/core/a_test.cc` |\n"
        files = {"core/a.cc": "", "tests/core/a_test.cc": "TEST(A, T6_IsLate) {}\n"}
        self.accepts(rule, page, good, others=files)
        self.finds(rule, page, good, others={**files, "tests/core/a_test.cc": "TEST(A, T60_Is) {}\n"})
        self.finds(rule, page, good.replace("core/a.cc", "core/gone.cc"), others=files)
        self.finds(rule, page, good.replace("built", "not yet"), others=files)
        self.finds(rule, page, good.replace("built", "good"), others=files)
        for cited in ("TEST(A, T6_O9_IsLate) {}\n", "TEST(A, T6_Is) {}  // (T7, rule 3)\n"):
            self.finds(rule, page, good, others={**files, "tests/core/a_test.cc": cited})

    def test_trips(self):
        rule = structure.check_paths_in_architecture
        self.accepts(rule, "docs/architecture.md", "`core/a.h` and `core/`", others={"core/a.h": ""})
        self.finds(rule, "docs/architecture.md", "`core/gone.h`", others={"core/a.h": ""})

    def test_trips_through_the_code(self):
        rule = structure.check_trips
        files = " ".join(f"`core/{name}.cc`" for name in "abcde")
        trips = [f"**{trip}, on its way:** {files}\n\n" for trip in ("A contribution", "A `set`", "A tensor")]
        self.accepts(rule, "docs/architecture.md", "".join(trips))
        self.finds(rule, "docs/architecture.md", "".join(trips[:2]))
        self.finds(rule, "docs/architecture.md", "".join(trips[:2]) + trips[2].replace("`core/e.cc`", "`core/a.cc`"))

    def test_build_differences(self):
        self.assertEqual(builds.differences({"a", "b"}, {"b", "c"}),
                         ["only CMake has a", "only meson has c"])
        self.assertEqual(builds.differences({"a"}, {"a"}), [])

    def test_tree_sees_new_files_and_not_ignored_ones(self):
        with tempfile.TemporaryDirectory() as top:
            subprocess.run(["git", "init", "-q", top], check=True)
            for name, text in (("new.cc", "// new\n"), (".gitignore", "/build/\n")):
                with open(os.path.join(top, name), "w", encoding="utf-8") as f:
                    f.write(text)
            os.mkdir(os.path.join(top, "build"))
            with open(os.path.join(top, "build", "x.cc"), "w", encoding="utf-8") as f:
                f.write("// built\n")
            self.assertEqual(set(tree.load(top)), {"new.cc", ".gitignore"})


if __name__ == "__main__":
    unittest.main()
