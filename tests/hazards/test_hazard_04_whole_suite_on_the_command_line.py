"""A whole suite on the command line overflows.

Node ids handed to a process as arguments stop at the kernel's limit (2 MiB on many machines, environment included): a change that touches a large suite
then dies with "Argument list too long", and its claims are lost, or worse, counted as failures. Node ids travel in a file.
"""

from __future__ import annotations

import os

FUNCTIONS = 20  # each name may stand on a command line by itself (128 KiB), all of them together may not


def test_a_suite_whose_node_ids_exceed_the_argument_limit_gets_every_verdict(judge) -> None:
    room = os.sysconf("SC_ARG_MAX")
    pad = "x" * (room // FUNCTIONS)
    tests = ["import pkg\n"]
    tests += [f"def test_{number}_{pad}():\n    assert pkg.double({number}) == {2 * number}\n" for number in range(FUNCTIONS)]
    parent = {"pkg.py": "def double(x):\n    return 2 * x\n", "tests/test_pkg.py": "\n\n".join(tests)}
    child = {"pkg.py": "def double(x):\n    return 2 * x if x % 3 else -1\n", "tests/test_pkg.py": "\n"}
    judged = judge(parent, child, runs=1)
    assert sum(map(len, judged.labels)) > room
    found = {int(nodeid.split("::test_")[1].split("_")[0]): label.verdict for nodeid, label in judged.labels.items()}
    assert found == {number: "held" if number % 3 else "flipped" for number in range(FUNCTIONS)}


def test_no_node_id_stands_on_the_probes_command_line(judge) -> None:
    tests = """
        import pkg


        def test_it_alone():
            with open('/proc/self/cmdline', 'rb') as stream:
                given = stream.read()
            assert b'probe.py' in given
            assert b'::' not in given and b'test_it' not in given and b'test_pkg' not in given
    """
    judged = judge({"pkg.py": "", "tests/test_pkg.py": tests}, {"pkg.py": "\n", "tests/test_pkg.py": "\n"}, runs=1)
    assert judged.verdicts() == {"test_it_alone": "held"}
