"""The page: complete, the same bytes every time, harmless whatever mined code calls itself, and honest where there is nothing to say."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
import yaml
from synthetic import SPLIT, write_corpus

from claimflip.errors import CorpusError
from claimflip.protocols import Reporter
from claimflip.records import Label, Question
from stats.figures import costs, forest, render
from stats.report import HtmlReport
from stats.report.findings import find

TRUTHS = {"attrs": ["flipped", "held", "flipped", "held", "unknown: timeout at t+1"], "cachetools": ["held", "held", "flipped"], "parse": ["held"]}
ARMS = {
    "a0": ["flipped"] * 8,
    "a1": ["held"] * 8,
    "a3": ["flipped", "held", "flipped", "flipped", None, "held", "held", "held"],
    "mute": [None] * 8,
}
QUICK = HtmlReport(resamples=200)


class Page(HTMLParser):
    """Every tag with its attributes, and the text between."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data

    def values(self, name):
        return [attrs[name] for _, attrs in self.tags if attrs.get(name)]


def written(corpus):
    return {path.relative_to(corpus.report_path).as_posix(): path.read_bytes() for path in sorted(corpus.report_path.rglob("*")) if path.is_file()}


@pytest.fixture(scope="module")
def reported(tmp_path_factory):
    """A corpus with its report, for the tests that only look at it."""
    corpus = write_corpus(tmp_path_factory.mktemp("reports") / "quickstart", TRUTHS, ARMS, natural_rate=0.024)
    assert QUICK.write(corpus, SPLIT) == corpus.report_path / "index.html"
    return corpus


def test_the_folder_holds_the_page_and_every_table_and_figure_in_each_form(reported):
    tables = ("arms", "corpus", "costs", "covered", "discards", "flips", "intervals", "mcnemar", "problems")
    expected = {f"tables/{name}.{form}" for name in tables for form in ("csv", "md", "tex")}
    expected |= {f"figures/{name}.{form}" for name in ("forest", "costs") for form in ("svg", "pdf", "png")}
    assert set(written(reported)) == expected | {"index.html"}
    assert isinstance(QUICK, Reporter)


def test_the_same_corpus_gives_the_same_bytes_and_another_seed_does_not(tmp_path, reported):
    first = written(reported)
    corpus = write_corpus(tmp_path / "quickstart", TRUTHS, ARMS, natural_rate=0.024)
    QUICK.write(corpus, SPLIT)
    assert written(corpus) == first
    HtmlReport(resamples=200, seed=1).write(corpus, SPLIT)
    assert written(corpus)["tables/intervals.csv"] != first["tables/intervals.csv"]
    assert not any(re.search(rb"20\d\d-\d\d-\d\dT|CreationDate", content) for content in first.values())


def test_the_page_needs_nothing_but_itself_and_its_links_lead_somewhere(reported):
    path = reported.report_path / "index.html"
    page = Page(path)
    assert not {"script", "link", "iframe", "img", "object"} & {tag for tag, _ in page.tags}
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    for target in page.values("href") + page.values("xlink:href"):
        assert target[1:] in ids if target.startswith("#") else (path.parent / target).is_file(), target
    assert not re.search(r"@import|url\((?!#)|src=", path.read_text(encoding="utf-8"))


def test_it_says_what_was_measured(reported):
    text = Page(reported.report_path / "index.html").text
    for expected in ("quickstart", "2.40 %", "37.50 %", "timeout at t+1", "seed 7", "Below 10 the interval over repositories", "precision", "share of flips"):
        assert expected in text


def test_a_script_tag_from_mined_code_does_nothing_wherever_it_stands(tmp_path):
    nodeid, repo, reason, source, problem = (f"<script>alert('{place}')</script>" for place in ("nodeid", "repo", "reason", "source", "problem"))
    corpus = write_corpus(
        tmp_path,
        {repo: ["flipped", "held", f"unknown: {reason}"]},
        {"a0": ["flipped"] * 2},
        names={0: nodeid},
        sources=[{"repo": "other", "kind": "index", "head": source}],
        problems=[{"repo": repo, "change_id": "", "stage": "mine", "reason": problem}],
    )
    path = QUICK.write(corpus, SPLIT)
    page = Page(path)
    assert "script" not in {tag for tag, _ in page.tags}
    assert "<script" not in path.read_text(encoding="utf-8")
    assert all(evil in page.text for evil in (nodeid, repo, reason, source, problem))


def test_a_name_that_reverses_the_text_after_it_is_shown_as_an_escape(tmp_path):
    corpus = write_corpus(tmp_path, {"attrs": ["flipped", "held"]}, {"a0": ["flipped"] * 2}, names={0: "test_\u202eevil"})
    text = QUICK.write(corpus, SPLIT).read_text(encoding="utf-8")
    assert "\u202e" not in text
    assert "test_\\u202eevil" in text


def test_an_arm_whose_name_is_markup_stays_a_name_in_the_drawing(tmp_path):
    corpus = write_corpus(tmp_path, TRUTHS, {"a$_x$--><script>": ARMS["a0"]})
    path = QUICK.write(corpus, SPLIT)
    assert "script" not in {tag for tag, _ in Page(path).tags}
    assert (corpus.report_path / "figures" / "forest.svg").read_bytes().startswith(b"<?xml")


DEGENERATE = {
    "no flips": ({"attrs": ["held"] * 8}, ARMS, "No claim asked has flipped"),
    "no held": ({"attrs": ["flipped"] * 8}, ARMS, "Every claim asked has flipped"),
    "one claim": ({"attrs": ["flipped"]}, {"a0": ["flipped"]}, "Repositories asked about: 1."),
    "no arms": (TRUTHS, {}, "No arm has answered"),
    "nothing labelled": ({"attrs": ["unknown: flaky"] * 3}, {"a0": []}, "No claim has a verdict"),
    "no claims": ({"attrs": []}, {"a0": []}, "No claim has a verdict"),
    "nothing mined": ({}, {}, "Nothing was mined"),
}


@pytest.mark.parametrize(("truths", "arms", "said"), DEGENERATE.values(), ids=DEGENERATE)
def test_a_corpus_with_little_in_it_is_reported_and_says_so(tmp_path, recwarn, truths, arms, said):
    corpus = write_corpus(tmp_path, truths, arms)
    assert said in Page(QUICK.write(corpus, SPLIT)).text
    assert HtmlReport().summary(corpus, SPLIT)
    assert [str(warning.message) for warning in recwarn] == []


def test_a_corpus_in_which_every_change_broke_names_the_reasons(tmp_path):
    corpus = write_corpus(tmp_path, {"attrs": [], "parse": []}, {})
    problems = [{"repo": repo, "change_id": change, "stage": "label", "reason": "no interpreter"} for repo, change in zip("ab", "xy", strict=True)]
    corpus.update_info(problems=[{**problem, "repo": repo} for problem, repo in zip(problems, ("attrs", "parse"), strict=True)])
    for record in (Label, Question):
        corpus._parquet(record, SPLIT).unlink()  # stages that had nothing to write
    text = Page(QUICK.write(corpus, SPLIT)).text
    assert "All 2 changes broke" in text
    assert text.count("no interpreter") == 2


def test_an_unrecorded_natural_rate_is_said_and_dashed(tmp_path):
    corpus = write_corpus(tmp_path, TRUTHS, ARMS, natural_rate=None)
    assert "recorded no natural flip rate" in Page(QUICK.write(corpus, SPLIT)).text
    assert "natural flip rate –" in (corpus.report_path / "tables" / "arms.md").read_text(encoding="utf-8")


def test_a_split_that_was_never_scored_is_an_error_with_a_way_out(tmp_path):
    corpus = write_corpus(tmp_path, TRUTHS, ARMS)
    with pytest.raises(CorpusError, match="run 'claimflip score' first"):
        QUICK.write(corpus, "postcutoff")


def test_kinds_of_source_get_tables_of_their_own(tmp_path):
    corpus = write_corpus(tmp_path, {"attrs": ["flipped", "held"], "world": ["flipped", "held"]}, {"a0": ["flipped"] * 4}, kinds={"world": "worlds"})
    corpus.write_note(SPLIT, "questions", {"natural_rates": {"index": 0.02, "worlds": 0.5}})
    found = find(corpus, SPLIT, resamples=50, seed=0)
    assert [kind.kind for kind in found.kinds] == ["index", "worlds"]
    assert [int(kind.tables["arms"].frame["n"].iloc[0]) for kind in found.kinds] == [2, 2]
    assert [kind.tables["arms"].frame["natural_precision"].iloc[0] for kind in found.kinds] == [0.02, 0.5]
    path = QUICK.write(corpus, SPLIT)
    assert {"tables/arms-index.csv", "tables/arms-worlds.csv", "figures/costs-worlds.svg"} <= set(written(corpus))
    ids = Page(path).values("id")
    assert len(ids) == len(set(ids))
    assert HtmlReport().summary(corpus, SPLIT).count("sources") == 2


def test_what_a_model_cost_is_said_and_an_arm_that_cost_nothing_is_not_mentioned(tmp_path):
    corpus = write_corpus(tmp_path, {"attrs": ["unknown: flaky"]}, {"a0": [], "a6@m": []})
    corpus.write_note(SPLIT, "a0", {"tokens_in": 0, "tokens_out": 0, "usd": 0.0})
    corpus.write_note(SPLIT, "a6@m", {"tokens_in": 12_345, "tokens_out": 67, "usd": 1.5})
    assert find(corpus, SPLIT, resamples=1, seed=0).spent == (("a6@m", "12,345 tokens sent, 67 received, 1.50 USD"),)
    assert "answers of a6@m" in Page(QUICK.write(corpus, SPLIT)).text


def test_the_terminal_gets_counts_beside_ratios(tmp_path):
    lines = HtmlReport().summary(write_corpus(tmp_path, TRUTHS, ARMS), SPLIT).splitlines()
    assert lines[0].split() == ["arm", "n", "fires", "flips", "caught", "P", "R", "F1", "coverage", "natural", "P"]
    assert lines[1].split()[:8] == ["a0", "8", "8", "3", "of", "3", "0.375", "1.000"]
    assert lines[4].split() == ["mute", "8", "0", "0", "of", "3", "–", "0.000", "0.000", "0.000", "–"]


def test_the_shipped_settings_are_those_of_the_class():
    settings = yaml.safe_load((Path(__file__).parents[2] / "configs" / "report" / "default.yaml").read_text(encoding="utf-8"))
    assert settings.pop("_target_") == "stats.report.HtmlReport"
    assert HtmlReport(**settings) == HtmlReport()


def test_names_of_arms_hide_no_point_and_no_other_name(tmp_path):
    corpus = write_corpus(tmp_path, TRUTHS, {**ARMS, **{f"twin{place}": ARMS["a3"] for place in range(6)}})
    frame = find(corpus, SPLIT, resamples=10, seed=0).kinds[0].tables["arms"].frame
    figure = costs(frame)
    figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in figure.axes[0].texts if text.get_text()]
    assert len(boxes) == 10
    assert not any(one.overlaps(other) for place, one in enumerate(boxes) for other in boxes[:place])


@pytest.mark.parametrize("draw", [forest, costs])
def test_a_figure_of_undefined_ratios_is_still_a_figure(tmp_path, draw):
    frame = find(write_corpus(tmp_path, {"attrs": ["held"]}, {"a1": ["held"]}), SPLIT, resamples=10, seed=0).kinds[0].tables["arms"].frame
    rendered = render(draw, frame)
    assert rendered == render(draw, frame)
    assert [rendered[form][:4] for form in ("svg", "pdf", "png")] == [b"<?xm", b"%PDF", b"\x89PNG"]
    assert {"precision", "staleness"} <= set(frame.columns)
