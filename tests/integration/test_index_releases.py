"""Mining from a package index: a loopback server that speaks the simple API, real archives, real git."""

import hashlib
import io
import json
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from claimflip.errors import ConfigError, IndexUnreachable, SourceError
from claimflip.protocols import Source
from mining.index_releases import IndexReleases


def _sdist(version, value, *, link=None):
    files = {
        "PKG-INFO": f"Metadata-Version: 2.1\nName: pier\nVersion: {version}\n",
        "pier.egg-info/PKG-INFO": f"Name: pier\nVersion: {version}\n",
        "pier/__init__.py": f"def answer():\n    return {value!r}\n",
        "tests/test_pier.py": f"import pier\n\n\ndef test_answer():\n    assert pier.answer() == {value!r}\n",
    }
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, text in files.items():
            info = tarfile.TarInfo(f"pier-{version}/{name}")
            info.size = len(text.encode())
            archive.addfile(info, io.BytesIO(text.encode()))
        if link:
            info = tarfile.TarInfo(link)
            archive.addfile(info)
    return packed.getvalue()


class Index:
    """A package index with one project; ``requests`` counts what was asked for."""

    def __init__(self):
        self.files, self.listing, self.requests, self.status = {}, [], [], {}
        self.html, self.json = None, None
        index = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                index.requests.append(self.path)
                body, content_type = index.answer(self.path)
                self.send_response(index.status.get(self.path, 404 if body is None else 200))
                self.send_header("Content-Type", content_type)
                self.send_header("Content-Length", str(len(body or b"")))
                self.end_headers()
                self.wfile.write(body or b"")

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/simple/"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def answer(self, path):
        if path.startswith("/simple/pier"):
            if self.html is not None:
                return self.html.encode(), "text/html"
            if self.json is not None:
                return self.json.encode(), "application/vnd.pypi.simple.v1+json"
            page = {"meta": {"api-version": "1.1"}, "name": "pier", "versions": [], "files": self.listing}
            return json.dumps(page).encode(), "application/vnd.pypi.simple.v1+json"
        return self.files.get(path), "application/octet-stream"

    def add(self, filename, content, uploaded, *, yanked=False, sha256=None):
        self.files[f"/files/{filename}"] = content
        entry = {"filename": filename, "url": f"../../files/{filename}", "hashes": {"sha256": sha256 or hashlib.sha256(content).hexdigest()}}
        self.listing.append({**entry, "yanked": yanked, "upload-time": uploaded, "size": len(content)})

    def release(self, version, value, uploaded, **how):
        self.add(f"pier-{version}.tar.gz", _sdist(version, value), uploaded, **how)

    def downloads(self):
        return [path for path in self.requests if path.startswith("/files/")]


@pytest.fixture
def index(monkeypatch):
    for variable in ("UV_INDEX_URL", "PIP_INDEX_URL", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(variable, raising=False)
    served = Index()
    monkeypatch.setenv("UV_DEFAULT_INDEX", served.url)
    served.release("1.0", 1, "2024-01-01T10:00:00.5Z")
    served.release("1.10", 3, "2024-03-01T10:00:00Z")
    served.release("1.9", 2, "2024-02-01T10:00:00Z")
    yield served
    served.server.shutdown()
    served.server.server_close()


def _steps(source):
    return sorted((change.parent, change.child) for change in source.changes())


def test_releases_become_changes_in_the_order_of_versions(index, tmp_path):
    index.release("1.9.1", 7, "2024-05-01T00:00:00Z")  # maintenance, uploaded after 1.10
    source = IndexReleases("harbour", "Pier", cache=tmp_path / "cache")
    assert isinstance(source, Source)
    assert (source.repo, source.kind) == ("harbour", "index")
    changes = {change.child: change for change in source.changes()}
    assert [(change.parent, change.child) for change in changes.values()] == [("1.0", "1.9"), ("1.9.1", "1.10"), ("1.9", "1.9.1")]
    change = changes["1.9.1"]
    assert change.date.isoformat() == "2024-05-01T00:00:00+00:00"
    assert (change.source_files, change.test_files, change.deleted_assertions) == (("pier/__init__.py",), ("tests/test_pier.py",), 1)
    assert "return 7" in change.source_diff
    assert "assert" not in change.source_diff
    source.export(change, "parent", tmp_path / "parent")
    source.export(change, "child", tmp_path / "child")
    assert "Version: 1.9\n" in (tmp_path / "parent/PKG-INFO").read_text()
    assert "Version: 1.9.1\n" in (tmp_path / "child/pier.egg-info/PKG-INFO").read_text()
    assert (tmp_path / "child/pier/__init__.py").read_text() == "def answer():\n    return 7\n"


def test_description_names_every_release_and_no_address(index, tmp_path):
    source = IndexReleases("pier", cache=tmp_path, until="2024-02-15", ranking="net", limit=5, seed=3)
    assert _steps(source) == [("1.0", "1.9")]
    described = json.loads(json.dumps(source.describe()))
    digest = hashlib.sha256(index.files["/files/pier-1.0.tar.gz"]).hexdigest()
    assert described["used"][0] == {"version": "1.0", "uploaded": "2024-01-01T10:00:00.500000+00:00", "sha256": digest}
    assert [release["version"] for release in described["used"]] == ["1.0", "1.9"]
    assert described["window"] == {"until": "2024-02-15T00:00:00+00:00", "since": None, "releases": None}
    assert described["ranking"] == {"rule": "net", "limit": 5, "seed": 3}
    assert (described["steps"], described["candidates"], described["kept"]) == (1, 1, 1)
    assert "127.0.0.1" not in json.dumps(described)


def test_yanked_and_prereleases_are_out(index, tmp_path):
    index.release("1.11rc1", 8, "2024-04-01T00:00:00Z")
    index.release("1.9.5", 9, "2024-04-02T00:00:00Z", yanked="broken")
    index.release("1.12.dev3", 8, "2024-04-01T00:00:00Z")
    source = IndexReleases("pier", cache=tmp_path)
    assert _steps(source) == [("1.0", "1.9"), ("1.9", "1.10")]
    assert source.describe()["left_out"] == {"pre-release": 2, "yanked": 1}
    assert source.describe()["passed_over"] == []


def test_unusable_releases_are_passed_over_with_their_reason_and_the_others_go_on(index, tmp_path):
    index.add("pier-1.1-py3-none-any.whl", b"wheel", "2024-01-02T00:00:00Z")
    index.release("1.2", 8, "2024-01-03T00:00:00Z", sha256="0" * 64)
    index.add("pier-1.3.tar.gz", b"garbage", "2024-01-04T00:00:00Z")
    index.add("pier-1.4.tar.gz", _sdist("1.4", 1, link="../../owned"), "2024-01-05T00:00:00Z")
    index.release("1.5", 8, "2024-01-06T00:00:00Z")
    del index.files["/files/pier-1.5.tar.gz"]
    index.release("1.6", 8, "2024-01-07T00:00:00Z", sha256="../../../etc/passwd")
    source = IndexReleases("pier", cache=tmp_path)
    assert _steps(source) == [("1.0", "1.9"), ("1.9", "1.10")]
    reasons = {entry["version"]: entry["reason"] for entry in source.describe()["passed_over"]}
    assert reasons["1.1"] == "no source archive"
    assert reasons["1.2"] == "the archive does not have the hash that the index gives"
    assert reasons["1.3"].startswith("broken archive")
    assert "leads out of the archive" in reasons["1.4"]
    assert reasons["1.5"] == "the archive cannot be downloaded (HTTP 404)"
    assert reasons["1.6"] == "the index gives no SHA-256"
    again = IndexReleases("pier", cache=tmp_path)
    assert list(again.changes()) == list(source.changes())
    assert again.describe() == source.describe()


def test_later_uploads_do_not_move_a_window_with_an_end(index, tmp_path):
    window = {"until": "2024-03-15", "releases": 2}
    before = IndexReleases("pier", cache=tmp_path / "a", **window)
    changes, described = list(before.changes()), before.describe()
    assert [(change.parent, change.child) for change in changes] == [("1.9", "1.10")]
    index.release("1.9.9", 9, "2024-06-01T00:00:00Z")
    index.release("1.11", 9, "2024-06-01T00:00:00Z")
    index.release("1.9.8rc1", 9, "2024-06-01T00:00:00Z")
    after = IndexReleases("pier", cache=tmp_path / "b", **window)
    assert list(after.changes()) == changes
    assert after.describe() == described


def test_since_keeps_the_release_before_as_parent(index, tmp_path):
    assert _steps(IndexReleases("pier", cache=tmp_path, since="2024-02-20")) == [("1.9", "1.10")]
    assert _steps(IndexReleases("pier", cache=tmp_path, since="2024-02-01T10:00:00+00:00")) == [("1.0", "1.9"), ("1.9", "1.10")]


def test_nothing_is_downloaded_twice_and_a_damaged_copy_is_replaced(index, tmp_path):
    first = IndexReleases("pier", cache=tmp_path)
    changes = list(first.changes())
    assert len(index.downloads()) == 3
    assert list(IndexReleases("pier", cache=tmp_path).changes()) == changes
    wider = IndexReleases("pier", cache=tmp_path, until="2024-02-15")
    assert _steps(wider) == [("1.0", "1.9")]
    assert len(index.downloads()) == 3
    (kept,) = (tmp_path / "index/pier/archives").glob("1.9-*")
    kept.write_bytes(b"damaged")
    assert list(IndexReleases("pier", cache=tmp_path).changes()) == changes
    assert len(index.downloads()) == 4


def test_interrupted_preparation_is_taken_up_again(index, tmp_path):
    changes = list(IndexReleases("pier", cache=tmp_path).changes())
    (state,) = (tmp_path / "index/pier").glob("*.json")
    state.unlink()
    (git_dir,) = (tmp_path / "index/pier").glob("*.git")
    (git_dir / "HEAD").unlink()
    assert list(IndexReleases("pier", cache=tmp_path).changes()) == changes


def test_refused_download_stops_the_run_so_that_no_smaller_corpus_is_recorded(index, tmp_path):
    index.status["/files/pier-1.9.tar.gz"] = 401
    with pytest.raises(IndexUnreachable, match="'pier' \\(HTTP 401\\)"):
        list(IndexReleases("pier", cache=tmp_path).changes())
    index.status.clear()
    assert _steps(IndexReleases("pier", cache=tmp_path)) == [("1.0", "1.9"), ("1.9", "1.10")]
    assert sorted(index.downloads()).count("/files/pier-1.0.tar.gz") == 1


def test_unreachable_index_is_one_line_without_the_password(index, tmp_path, monkeypatch):
    index.server.shutdown()
    index.server.server_close()
    monkeypatch.setenv("UV_DEFAULT_INDEX", index.url.replace("127.0.0.1", "me:s3cret@127.0.0.1"))
    with pytest.raises(IndexUnreachable) as told:
        list(IndexReleases("pier", cache=tmp_path).changes())
    message = str(told.value)
    assert "'pier'" in message
    assert "PIP_INDEX_URL" in message
    assert "s3cret" not in message
    assert "\n" not in message


@pytest.mark.parametrize("address", ["no-address-at-all", "file:///nowhere/simple"])
def test_address_that_is_none_is_one_line(index, tmp_path, monkeypatch, address):
    monkeypatch.setenv("UV_DEFAULT_INDEX", address)
    with pytest.raises(IndexUnreachable, match="cannot be read for 'pier'"):
        list(IndexReleases("pier", cache=tmp_path).changes())


@pytest.mark.parametrize("page", ["{", '{"meta": {"api-version": "1.0"}, "files": 3}', '{"meta": {"api-version": "9.0"}, "name": "pier", "files": []}'])
def test_page_that_is_no_index_page_is_one_line(index, tmp_path, page):
    index.json = page
    with pytest.raises(IndexUnreachable, match="cannot be read for 'pier'"):
        list(IndexReleases("pier", cache=tmp_path).changes())


def test_unknown_project_is_named(index, tmp_path):
    with pytest.raises(SourceError, match="no project 'quay'") as told:
        list(IndexReleases("quay", cache=tmp_path).changes())
    assert not isinstance(told.value, IndexUnreachable)  # the other sources go on


def test_project_without_source_archives_is_told(index, tmp_path):
    index.listing.clear()
    for number in range(3):
        index.add(f"pier-{number}.0-py3-none-any.whl", b"", f"2024-01-0{number + 1}T00:00:00Z")
    with pytest.raises(SourceError, match=r"'pier' has 0 usable releases.*3 × no source archive"):
        list(IndexReleases("pier", cache=tmp_path).changes())


def test_index_without_upload_times_is_told(index, tmp_path):
    index.html = "<html><body>" + "".join(f'<a href="../../files/{entry["filename"]}">{entry["filename"]}</a>' for entry in index.listing) + "</body></html>"
    with pytest.raises(SourceError, match="3 × the index gives no upload time"):
        list(IndexReleases("pier", cache=tmp_path).changes())


def test_empty_window_is_told(index, tmp_path):
    with pytest.raises(SourceError, match="'pier' has 1 usable release in the window"):
        list(IndexReleases("pier", cache=tmp_path, until="2024-01-15").changes())


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"until": "soon"}, "until='soon' is no date"),
        ({"releases": 1}, "releases=1"),
        ({"project": "../x"}, r"'\.\./x'"),
    ],
)
def test_unusable_setting_is_named(tmp_path, settings, told):
    with pytest.raises(ConfigError, match=told):
        IndexReleases("pier", cache=tmp_path, **settings)


def test_change_of_another_window_is_not_exported(index, tmp_path):
    change = next(iter(IndexReleases("pier", cache=tmp_path).changes()))
    narrow = IndexReleases("pier", cache=tmp_path, since="2024-02-20")
    with pytest.raises(SourceError, match=r"release 1\.0 of 'pier' is not in the window"):
        narrow.export(change, "parent", tmp_path / "out")


def test_unwritable_cache_is_one_line(index, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SourceError, match="choose another cache folder"):
        list(IndexReleases("pier", cache=tmp_path / "file").changes())
