"""tools/run-tests on builds of a few small tests: what counts, what is repeated, what is named; parts of tools/check."""

import argparse
import importlib.machinery
import importlib.util
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]


@pytest.fixture
def run(tmp_path):
    """Runs tests given as name: (label, shell command); returns the status and the lines printed."""

    def call(tests, *options):
        text = ""
        for name, (label, command) in tests.items():
            text += f'add_test({name} "/bin/sh" "-c" "{command}")\n'
            text += f'set_tests_properties({name} PROPERTIES LABELS "{label}" TIMEOUT "60" '
            text += f'WORKING_DIRECTORY "{tmp_path}" ENVIRONMENT "A=b=c")\n'
        (tmp_path / "CTestTestfile.cmake").write_text(text)
        done = subprocess.run([TOP / "tools/run-tests", *options, tmp_path], capture_output=True, text=True,
                              check=False)
        return done.returncode, done.stdout.splitlines()

    return call


def test_all_pass_and_others_do_not_run(run):
    status, lines = run({"a": ("exact", "[ $A = b=c ]"), "b": ("timing", "true"), "c": ("full", "false")})
    assert status == 0 and lines[-1] == "2 passed, 0 failed"


def test_a_failure_is_shown_and_never_repeated(run, tmp_path):
    status, lines = run({"a": ("timing", "echo once >>count; echo the reason; exit 1"), "b": ("exact", "true")})
    assert status == 1 and lines[-1] == "1 passed, 1 failed" and "    | the reason" in lines
    assert (tmp_path / "count").read_text() == "once\n"


def test_an_expired_wait_is_repeated_and_named(run):
    status, lines = run({"a": ("timing", "[ -e seen ] || { touch seen; exit 75; }")})
    assert status == 0 and "run-tests: second tries: a" in lines and lines[-1] == "1 passed, 0 failed"


def test_the_third_expired_wait_fails(run, tmp_path):
    status, lines = run({"a": ("timing", "echo once >>count; exit 75")})
    assert status == 1 and lines[-1] == "0 passed, 1 failed"
    assert (tmp_path / "count").read_text() == "once\n" * 3


def test_an_exact_test_has_one_try(run):
    status, lines = run({"a": ("exact", "exit 75"), "b": ("exact", "true")})
    assert status == 1 and lines[-1] == "1 passed, 1 failed"


def test_more_than_three_second_tries_fail(run):
    once = "[ -e seen-{0} ] || {{ touch seen-{0}; exit 75; }}"
    status, lines = run({name: ("timing", once.format(name)) for name in "abcd"})
    assert status == 1 and lines[-1] == "4 passed, 1 failed"


def test_what_has_no_time_left_is_named(run):
    status, lines = run({"a": ("timing", "true")}, "--seconds", "-1")
    assert status == 1 and lines[-1] == "0 passed, 1 failed" and any("NOT RUN" in line for line in lines)


def test_what_is_near_its_time_limit_is_named(capsys, tmp_path):
    loader = importlib.machinery.SourceFileLoader("run_tests", str(TOP / "tools/run-tests"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("run_tests", loader))
    loader.exec_module(module)
    runner = module.Runner(argparse.Namespace(seconds=1, logs=tmp_path))
    runner.report(("near", [], {"TIMEOUT": 60.0}), 0, 15.5)
    runner.report(("far", [], {"TIMEOUT": 60.0}), 0, 14.5)
    runner.report(("without", [], {}), 0, 70)
    assert runner.finish() == 0
    assert "run-tests: more than a quarter of the time limit: near (16 of 60 s)" in capsys.readouterr().out.splitlines()


def test_a_build_without_tests_of_the_gate_fails(run):
    status, lines = run({"a": ("full", "true")})
    assert status == 1 and lines[-1] == "0 passed, 0 failed"


@pytest.mark.parametrize("body, status", [
    ("loop.wait(lambda: False, 0, 'the moon')", 75), ("raise TimeoutError('other')", 1), ("assert False", 1),
    ("pass", 0)])
def test_status_75_is_for_expired_waits_alone(tmp_path, body, status):
    (tmp_path / "conftest.py").write_text((TOP / "tests/conftest.py").read_text().replace(
        "Path(__file__).resolve().parents[1]", f"Path('{TOP}')"))
    (tmp_path / "case_test.py").write_text(
        f"from testbed.loop import Loop\n\n\ndef test_case():\n    with Loop() as loop:\n        {body}\n")
    done = subprocess.run(["/usr/bin/python3", "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", tmp_path],
                          capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == status, done.stdout


def steps_of(*arguments):
    done = subprocess.run([TOP / "tools/check", *arguments, "--list"], check=True, capture_output=True, text=True)
    return [line.split()[0] for line in done.stdout.splitlines()[1:] if line.split()[1:2] in (["gate"], ["full"])]


def test_parts_of_the_full_run_are_all_of_it():
    """Each step in one part, whatever their number; the build, and tests of its own, in all."""
    whole = steps_of()
    for parts in (1, 2, 3, 7):
        shared = [steps_of("--full", "--part", f"{part}/{parts}") for part in range(1, parts + 1)]
        assert all({"build", "tests"} <= set(some) for some in shared)
        once = [step for some in shared for step in some if step not in ("build", "tests")]
        assert sorted(once) == sorted(set(whole) - {"build", "tests"}), parts


@pytest.mark.parametrize("arguments, said", [
    (["--full", "--part", "3/2"], "allowed: N/M, N from 1 to M"), (["--full", "--part", "0/2"], "allowed: N/M"),
    (["--full", "--part"], "allowed: N/M"), (["--part", "1/2"], "is for --full"),
    (["--full", "--part", "1/2", "--only", "format"], "is for --full, without --only")])
def test_parts_that_make_no_sense_are_refused(arguments, said):
    done = subprocess.run([TOP / "tools/check", *arguments], capture_output=True, text=True)
    assert done.returncode == 2 and said in done.stderr, done
