"""Without the extra `learned`: nothing loads PyTorch, and the agent says what to install."""

import subprocess
import sys

_LOADED = """
import sys
for name in ("torch", "safetensors", "tokenizers", "numpy"):
    sys.modules[name] = None
import asyncguard, asyncguard_benchmark
from asyncguard.cli import main
from asyncguard_benchmark.harness import campaign
from asyncguard_benchmark.harness.suites import registry
from asyncguard_benchmark.learned import traces, splits
registry().sets, registry().all_agents
assert "learned" in registry().all_agents and "learned" not in registry().agents
try:
    main(["bench", "list", "agents"])
except SystemExit as ended:
    assert not ended.code
"""
_ASKED = """
import sys
sys.modules["torch"] = None
from asyncguard.cli import main
sys.exit(main(["bench", "run", "--agents", "learned", "--suite", "lite", "--players", "plain",
    "--arms", "none", "--out", sys.argv[1]]))
"""


def test_nothing_loads_pytorch_by_itself() -> None:
    """The library, the suites, the command line and the training data work without the extra."""
    done = subprocess.run([sys.executable, "-c", _LOADED], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "learned  " in done.stdout  # listed all the same


def test_the_agent_says_which_extra_it_needs(tmp_path: object) -> None:
    """`--agents learned` without PyTorch ends with the name of the extra, and with no trace of a program."""
    done = subprocess.run(
        [sys.executable, "-c", _ASKED, f"{tmp_path}/run.jsonl"], capture_output=True, text=True
    )
    assert done.returncode not in (0, None)
    assert "pip install 'asyncguard[learned]'" in done.stderr
    assert "Traceback" not in done.stderr
