import sys

import pytest

from claimflip import package_index


@pytest.fixture(autouse=True)
def _nothing_configured(monkeypatch, tmp_path):
    for variable in ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    (tmp_path / "pip.conf").write_text("")
    package_index._of_pip.cache_clear()
    yield
    package_index._of_pip.cache_clear()


def _without_pip(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "no-python-here"))
    monkeypatch.setenv("PATH", str(tmp_path))


def test_uv_variable_wins_over_pips(monkeypatch):
    monkeypatch.setenv("PIP_INDEX_URL", "http://pip.invalid/simple")
    monkeypatch.setenv("UV_INDEX_URL", "http://old-uv.invalid/simple")
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://uv.invalid/simple")
    assert package_index.configured() == "http://uv.invalid/simple"
    monkeypatch.delenv("UV_DEFAULT_INDEX")
    assert package_index.configured() == "http://old-uv.invalid/simple"
    monkeypatch.delenv("UV_INDEX_URL")
    assert package_index.configured() == "http://pip.invalid/simple"


def test_named_uv_index_gives_its_url(monkeypatch):
    monkeypatch.setenv("UV_DEFAULT_INDEX", "company=http://uv.invalid/simple?token=a=b")
    assert package_index.configured() == "http://uv.invalid/simple?token=a=b"
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://uv.invalid/simple?token=a")
    assert package_index.configured() == "http://uv.invalid/simple?token=a"


def test_pip_configuration_file_is_read(tmp_path):
    (tmp_path / "pip.conf").write_text("[global]\nindex-url = http://conf.invalid/simple\n")
    assert package_index.configured() == "http://conf.invalid/simple"


def test_without_pip_and_without_variables_the_default_is_left_to_the_client(monkeypatch, tmp_path):
    _without_pip(monkeypatch, tmp_path)
    assert package_index.configured() is None


def test_credentials_never_survive_redaction():
    assert package_index.redacted("https://me:s3cret@host.invalid:8080/simple") == "https://***@host.invalid:8080/simple"
    assert package_index.redacted("https://me:p@ss@host.invalid/simple") == "https://***@host.invalid/simple"
    assert package_index.redacted("https://host.invalid/simple") == "https://host.invalid/simple"
