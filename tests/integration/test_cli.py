"""The command: what it offers, and what it says to a mistake."""

from __future__ import annotations

import shutil
import socket
import sys
from pathlib import Path

import pytest
from command import claimflip, config_folder, files, settings
from hydra.core.global_hydra import GlobalHydra

from claimflip import cli, open_corpus
from claimflip.corpus import Corpus

HEAVY = ("hydra", "omegaconf", "pandas", "pyarrow", "numpy", "scipy", "matplotlib", "litellm", "griffe", "pydriller", "requests", "rich", "uv")
OWN_ARMS = """
    from claimflip.records import Prediction


    class Moody:
        '''Answers as it likes, and not at all to a change of data.'''

        def __init__(self, name: str = "moody", level: int = 1) -> None:
            self.name = name

        def predict(self, given):
            if given.change.child.endswith("data"):
                raise LookupError("no mood for data")
            for question in given.questions:
                yield Prediction(question_id=question.question_id, arm=self.name, verdict="flipped")


    class Stranger:
        '''Answers what nobody asked.'''

        name = "stranger"

        def predict(self, given):
            yield Prediction(question_id="of somebody else", arm=self.name, verdict="held")


    class Mute:
        '''Offers no predict.'''

        name = "mute"
"""


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Run the command in this process, in an empty folder; returns the exit code and what it printed."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["claimflip", *arguments])
        monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
        GlobalHydra.instance().clear()
        code = 0
        try:
            cli.main()
        except SystemExit as end:
            code = int(end.code or 0)
        finally:
            GlobalHydra.instance().clear()
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


@pytest.fixture(scope="module")
def configs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return config_folder(tmp_path_factory.mktemp("cli") / "configs")


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def made(configs: Path, cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus that was mined and labelled by the command."""
    out = tmp_path_factory.mktemp("corpora") / "world"
    for stage in ("mine", "label"):
        done = claimflip(stage, *settings(configs, cache, out), cwd=out.parent)
        assert (done.returncode, done.stdout) == (0, ""), done.stderr
    return out


@pytest.fixture
def labelled(made: Path, tmp_path: Path) -> Path:
    """A copy of it, to be scored."""
    return Path(shutil.copytree(made, tmp_path / "labelled"))


def refused(result: tuple[int, str, str], *named: str) -> None:
    """Exit 2, nothing on standard output, one line that names these on standard error."""
    code, out, err = result
    assert (code, out) == (2, ""), err
    assert err.startswith("claimflip: "), err
    assert err.endswith("\n")
    assert err.count("\n") == 1, err
    assert "Traceback" not in err
    for name in named:
        assert name in err, err


# -- help


def test_help_imports_nothing_heavy(tmp_path: Path) -> None:
    asked = f"import sys; from claimflip.cli import main; main(); print(sorted(set(sys.modules) & {set(HEAVY)!r}))"
    done = claimflip("--help", cwd=tmp_path, command=(sys.executable, "-c", asked))
    assert done.stdout.splitlines()[-1] == "[]"
    assert all(f"  {command}" in done.stdout for command in cli.COMMANDS)


@pytest.mark.parametrize("name", sorted(cli.COMMANDS))
def test_each_command_has_its_help(command, name: str) -> None:
    for flag in ("--help", "-h"):
        code, out, err = command(name, flag)
        assert (code, err) == (0, "")
        assert f"usage: claimflip {name} " in out
        assert cli.COMMANDS[name] in out


def test_the_help_lists_the_choices_that_exist(command) -> None:
    assert "arms=a0|a1|a3|a4" in command()[1]
    assert "split=development|heldout" in command("bench", "--help")[1]


def test_every_setting_can_be_shown_without_running_anything(command, tmp_path: Path) -> None:
    code, out, _ = command("bench", "oracle.runs=3", "--cfg", "job")
    assert code == 0
    assert "runs: 3" in out
    assert list(tmp_path.iterdir()) == []


def test_arms_names_each_arm_with_its_class_and_rule(command) -> None:
    code, out, _ = command("arms")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == ["a0", "a1", "a3", "a4"]
    assert "arms.symbol_anchoring.SymbolAnchoring" in out


def test_doctor_names_what_is_missing_and_what_that_costs(command, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "git          ok" in command("doctor")[1]
    monkeypatch.setenv("PATH", "")
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    code, out, err = command("doctor")
    assert (code, err) == (0, "")
    for thing, cost in (("git", "no mining at all"), ("bubblewrap", "do not mine code that you do not trust"), ("model", "the model arms cannot be asked")):
        (line,) = [line for line in out.splitlines() if line.startswith(f"{thing} ")]
        assert "missing" in line
        assert cost in line


# -- mistakes


def test_an_unknown_command_lists_those_that_exist(command) -> None:
    refused(command("mien"), "'mien'", *cli.COMMANDS)


@pytest.mark.parametrize(
    ("override", "named"),
    [
        ("oracle.runs=abc", ("oracle.runs", "'abc'", "int")),
        ("oracle.runs=1.5", ("oracle.runs", "1.5", "int")),
        ("oracle.runs=0", ("oracle.runs=0", "1")),
        ("oracle.processes=0", ("oracle.processes=0", "1")),
        ("oracle.test_seconds=-1", ("oracle.test_seconds=-1",)),
        ("oracle.collect_seconds=0", ("oracle.collect_seconds=0",)),
        ("workers=-2", ("workers=-2", "1 or more")),
        ("workers=abc", ("workers", "'abc'", "int")),
        ("split.flip_rate=7", ("flip_rate is 7", "at most 1")),
        ("split.flip_rate=0", ("flip_rate is 0", "above 0")),
        ("split.seed=x", ("split.seed", "'x'", "int")),
        ("oracle.rums=3", ("rums",)),
        ("+oracle.rums=3", ("oracle", "'rums'", "runs")),
        ("oracle.environments.python=python1.2", ("python1.2", "oracle.environments.python")),
        ("oracle.environments.as_of=yesterday", ("as_of", "yesterday")),
        ("arms=[a0,a9]", ("a9", "a0", "a1", "a3", "a4")),
        ("corpus=nowhere", ("nowhere", "quickstart")),
        ("corpus.only=[nobody]", ("nobody", "first")),
        ("~split", ("split",)),
        ("=x", ("=x",)),
        ("+arms.mine._target_=no.such.Module", ("arms.mine", "no.such")),
        ("+arms.mine.level=3", ("arms.mine", "_target_")),
    ],
)
def test_a_wrong_setting_is_told_in_one_line(command, configs: Path, cache: Path, tmp_path: Path, override: str, named: tuple[str, ...]) -> None:
    given = settings(configs, cache, tmp_path / "out")
    if override.startswith("corpus=nowhere"):
        given.remove("corpus=world")
    result = command("bench", *[one for one in given if not override.startswith("arms=") or not one.startswith("arms=")], override)
    refused(result, *named)
    assert not (tmp_path / "out" / "changes.parquet").exists(), "a wrong setting must be told before the work, not after it"


@pytest.mark.parametrize("stage", ["label", "score", "report"])
def test_a_missing_corpus_is_named_and_nothing_is_made(command, configs: Path, cache: Path, tmp_path: Path, stage: str) -> None:
    refused(command(stage, *settings(configs, cache, tmp_path / "nowhere")), str(tmp_path / "nowhere"), "claimflip mine")
    assert not (tmp_path / "nowhere").exists()


def test_stages_out_of_turn_say_which_comes_first(command, configs: Path, cache: Path, labelled: Path) -> None:
    refused(command("report", *settings(configs, cache, labelled)), "claimflip score")


@pytest.mark.parametrize("name", ["out", "cache"])
def test_a_folder_that_cannot_be_made_is_named(command, configs: Path, cache: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("in the way")
    refused(command("bench", *settings(configs, cache, tmp_path / "out"), f"{name}={tmp_path}/file/below"), f"{tmp_path}/file")


def test_an_index_that_does_not_answer_is_told_in_one_line(configs: Path, tmp_path: Path) -> None:
    with socket.socket() as taken:  # bound and not listening: refuses every connection, and nobody else gets the port
        taken.bind(("127.0.0.1", 0))
        index = f"http://user:secret@127.0.0.1:{taken.getsockname()[1]}/simple"
        env = {"UV_DEFAULT_INDEX": index, "PIP_INDEX_URL": index, "UV_CACHE_DIR": str(tmp_path / "uv"), "UV_HTTP_RETRIES": "0", "UV_FIND_LINKS": ""}
        for more in (["corpus=world"], ["corpus=quickstart", "corpus.only=[parse]"]):
            done = claimflip("mine", *settings(configs, tmp_path / "cache", tmp_path / "out", *more), cwd=tmp_path, env=env)
            refused((done.returncode, done.stdout, done.stderr), "index", "UV_DEFAULT_INDEX")
            assert "secret" not in done.stderr


# -- runs


def test_a_multirun_makes_a_corpus_for_each_job(configs: Path, cache: Path, made: Path, tmp_path: Path) -> None:
    given = settings(configs, cache, tmp_path / "out")
    done = claimflip("mine", "-m", *given, "corpus.sources.first.seed=0,1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = sorted(tmp_path.glob("out*"))
    assert [path.name for path in found] == ["out,corpus.sources.first.seed=0", "out,corpus.sources.first.seed=1"]
    corpora = [open_corpus(path) for path in found]
    assert [corpus.info()["sources"][0]["seed"] for corpus in corpora] == [0, 1]
    assert set(corpora[0].claims.claim_id).isdisjoint(corpora[1].claims.claim_id)
    assert files(found[0])["claims.parquet"] == files(made)["claims.parquet"], "the first job's corpus is that of a run by itself"
    assert {path.name for path in tmp_path.iterdir()} == {"multirun.yaml", *(path.name for path in found)}, "no log files, no outputs folder"


@pytest.fixture
def own_arms(tmp_path: Path) -> Path:
    from textwrap import dedent

    (tmp_path / "own_arms.py").write_text(dedent(OWN_ARMS))
    return tmp_path


def test_an_arm_in_the_current_folder_is_asked_and_its_fault_costs_one_change(configs: Path, cache: Path, labelled: Path, own_arms: Path) -> None:
    given = ["+arms.mine._target_=own_arms.Moody", "+arms.mine.name=mine"]
    done = claimflip("score", *settings(configs, cache, labelled, *given), cwd=own_arms)
    assert done.returncode == 0, done.stderr
    corpus = open_corpus(labelled)
    answers = corpus.predictions("heldout").query("arm == 'mine'").merge(corpus.questions("heldout"), on="question_id").merge(corpus.changes, on="change_id")
    by_child = {child: set(zip(rows.verdict.fillna(""), rows.why, strict=True)) for child, rows in answers.groupby("child")}
    assert by_child == {"1-data": {("", "the arm raised LookupError: no mood for data")}, "2-logic": {("flipped", "")}}
    note = corpus.note("heldout", "mine")
    assert (note["asked"], note["covered"]) == (len(answers), int((answers.child == "2-logic").sum()))


def test_an_arm_that_answers_a_strangers_question_is_stopped_by_name(command, configs: Path, cache: Path, labelled: Path, own_arms: Path) -> None:
    result = command("score", *settings(configs, cache, labelled, "+arms.mine._target_=own_arms.Stranger"))
    refused((result[0], result[1], result[2].splitlines(keepends=True)[-1]), "'stranger'", "not asked")


def test_an_arm_without_predict_and_one_with_a_wrong_setting_are_told(command, configs: Path, cache: Path, labelled: Path, own_arms: Path) -> None:
    refused(command("score", *settings(configs, cache, labelled, "+arms.mine._target_=own_arms.Mute")), "arms.mine", "lacks predict")
    given = ["+arms.mine._target_=own_arms.Moody", "+arms.mine.level=high"]
    refused(command("score", *settings(configs, cache, labelled, *given)), "arms.mine.level='high'", "int")


def test_two_arms_of_one_name_are_told_apart_or_refused(command, configs: Path, cache: Path, labelled: Path, own_arms: Path) -> None:
    given = ["+arms.mine._target_=own_arms.Moody", "+arms.mine.name=a0"]
    refused(command("score", *settings(configs, cache, labelled, *given)), "'a0'", "name")


def test_nothing_of_a_users_folder_stands_before_our_modules(configs: Path, cache: Path, labelled: Path, tmp_path: Path) -> None:
    for name in ("arms", "stats", "oracle"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('the wrong module')\n")
    done = claimflip("score", *settings(configs, cache, labelled), cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_the_lock_of_a_writer_keeps_a_second_one_out(command, configs: Path, cache: Path, labelled: Path) -> None:
    with Corpus(labelled).lock():
        refused(command("score", *settings(configs, cache, labelled)), str(labelled), "another claimflip process")
