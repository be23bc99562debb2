"""The report as a reader opens it: from disk, in a real browser. Needs Debian's ``chromium`` and ``chromium-driver``; fails where they are missing."""

import shutil

import pytest
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from synthetic import SPLIT, write_corpus

from stats.report import HtmlReport

pytestmark = pytest.mark.system
FLAGS = "--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run --disable-background-networking --disable-component-update --disable-sync"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """Chromium with a profile of its own, its console kept."""
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    assert browser, "there is no 'chromium' on the PATH: apt-get install chromium"
    assert driver, "there is no 'chromedriver' on the PATH: apt-get install chromium-driver"
    options = ChromeOptions()
    options.binary_location = browser
    for flag in (*FLAGS.split(), f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    opened = Chrome(options=options, service=Service(driver))
    yield opened
    opened.quit()


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The page of a small corpus with two arms."""
    truths = {"attrs": ["flipped", "held", "held", "flipped"], "parse": ["held", "held", "flipped"]}
    corpus = write_corpus(tmp_path_factory.mktemp("corpora") / "small", truths, {"a0": ["flipped"] * 7, "a4": ["flipped", *["held"] * 6]})
    return HtmlReport(resamples=200).write(corpus, SPLIT)


@pytest.fixture
def opened(browser, page):
    """The browser with the page in it, its console emptied beforehand."""
    browser.get_log("browser")
    browser.set_window_size(1280, 900)
    browser.get(page.as_uri())
    return browser


def test_it_opens_without_a_word_in_the_console_and_fetches_nothing(opened):
    assert opened.get_log("browser") == []
    fetched = opened.execute_script("return performance.getEntriesByType('resource').map(entry => entry.name)")
    assert [name for name in fetched if not name.startswith("data:")] == []


def test_the_arms_table_can_be_read(opened):
    table = next(table for table in opened.find_elements(By.TAG_NAME, "table") if "precision" in table.text and "recall" in table.text)
    assert table.is_displayed()
    rows = {row.text.split()[0]: row.text for row in table.find_elements(By.CSS_SELECTOR, "tbody tr")}
    assert set(rows) == {"a0", "a4"}
    assert "0.429" in rows["a0"], "three flips in seven claims are always firing's precision"
    assert "0.333" in rows["a4"], "it caught one of three flips"


def test_both_figures_are_drawn(opened):
    for name in ("forest", "costs"):
        drawing = opened.find_element(By.CSS_SELECTOR, f".drawing.{name} svg")
        assert drawing.size["width"] > 200
        assert drawing.size["height"] > 100


def test_a_phone_scrolls_tables_not_the_page(opened):
    opened.set_window_size(500, 900)  # the narrowest that a headless window gets
    width, content = opened.execute_script("return [document.documentElement.clientWidth, document.documentElement.scrollWidth]")
    assert content <= width
