import io
import random
import stat
import tarfile
import zipfile

import pytest

from mining.archives import ArchiveError, unpack


def _tar(path, *entries, mode="w:gz"):
    """Entries are (name, bytes) or ready TarInfo objects."""
    with tarfile.open(path, mode) as archive:
        for entry in entries:
            if isinstance(entry, tarfile.TarInfo):
                archive.addfile(entry)
            else:
                info = tarfile.TarInfo(entry[0])
                info.size = len(entry[1])
                archive.addfile(info, io.BytesIO(entry[1]))
    return path


def _special(name, kind, target=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def _names(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir())


@pytest.mark.parametrize(("suffix", "mode"), [(".tar.gz", "w:gz"), (".tar.bz2", "w:bz2"), (".tar.xz", "w:xz"), (".tar", "w")])
def test_tar_loses_its_single_top_folder(tmp_path, suffix, mode):
    script = tarfile.TarInfo("pkg-1.0/run.sh")
    script.mode = 0o6777
    archive = _tar(tmp_path / f"pkg-1.0{suffix}", ("pkg-1.0/PKG-INFO", b"Name: pkg\n"), ("pkg-1.0/pkg.egg-info/PKG-INFO", b""), script, mode=mode)
    unpack(archive, tmp_path / "out")
    assert _names(tmp_path / "out") == ["PKG-INFO", "pkg.egg-info/PKG-INFO", "run.sh"]
    assert stat.S_IMODE((tmp_path / "out/run.sh").stat().st_mode) == 0o755
    assert stat.S_IMODE((tmp_path / "out/PKG-INFO").stat().st_mode) == 0o644


def test_zip_is_unpacked_like_a_tar(tmp_path):
    with zipfile.ZipFile(tmp_path / "pkg-1.0.zip", "w") as archive:
        archive.writestr("pkg-1.0/pkg/__init__.py", "x = 1\n")
        archive.writestr("pkg-1.0/setup.py", "")
    unpack(tmp_path / "pkg-1.0.zip", tmp_path / "out")
    assert (tmp_path / "out/pkg/__init__.py").read_text() == "x = 1\n"
    assert _names(tmp_path / "out") == ["pkg/__init__.py", "setup.py"]


def test_archive_without_a_single_top_folder_stays_as_it_is(tmp_path):
    unpack(_tar(tmp_path / "a.tar.gz", ("a/x", b"1"), ("b/x", b"2")), tmp_path / "out")
    assert _names(tmp_path / "out") == ["a/x", "b/x"]


@pytest.mark.parametrize("name", ["/etc/owned", "pkg/../../owned", "../owned"])
def test_path_out_of_the_archive_is_refused(tmp_path, name):
    with pytest.raises(ArchiveError, match="leads out"):
        unpack(_tar(tmp_path / "a.tar.gz", ("pkg/ok", b""), (name, b"x")), tmp_path / "box/out")
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(name, "x")
    with pytest.raises(ArchiveError, match="leads out"):
        unpack(tmp_path / "a.zip", tmp_path / "box/out")
    assert not any((tmp_path / "box").iterdir())


@pytest.mark.parametrize("kind", [tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE])
def test_device_is_refused(tmp_path, kind):
    with pytest.raises(ArchiveError, match="device"):
        unpack(_tar(tmp_path / "a.tar.gz", _special("pkg/null", kind)), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_link_out_is_left_out_and_link_inside_stays(tmp_path):
    (tmp_path / "secret").write_text("key")
    entries = [
        ("pkg/a/real", b"1"),
        _special("pkg/abs", tarfile.SYMTYPE, str(tmp_path / "secret")),
        _special("pkg/up", tarfile.SYMTYPE, "../secret"),
        # each is inside by its text alone; followed one after the other they lead out
        _special("pkg/a/top", tarfile.SYMTYPE, ".."),
        _special("pkg/chain", tarfile.SYMTYPE, "a/top/../secret"),
        _special("pkg/good", tarfile.SYMTYPE, "a/real"),
    ]
    unpack(_tar(tmp_path / "a.tar.gz", *entries), tmp_path / "out")
    assert _names(tmp_path / "out") == ["a/real", "good"]
    assert (tmp_path / "out/a/top").resolve() == (tmp_path / "out").resolve()
    assert (tmp_path / "out/good").readlink().as_posix() == "a/real"


def test_nothing_is_written_through_a_link(tmp_path):
    (tmp_path / "target").mkdir()
    archive = _tar(tmp_path / "a.tar.gz", _special("pkg/d", tarfile.SYMTYPE, str(tmp_path / "target")), ("pkg/d/owned", b"x"))
    unpack(archive, tmp_path / "out")
    assert not any((tmp_path / "target").iterdir())


def test_zip_link_out_is_left_out(tmp_path):
    link = zipfile.ZipInfo("pkg/link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(link, "/etc/passwd")
        archive.writestr("pkg/ok", "")
    unpack(tmp_path / "a.zip", tmp_path / "out")
    assert _names(tmp_path / "out") == ["ok"]


def test_hard_link_reads_the_archive_and_never_the_machine(tmp_path):
    (tmp_path / "secret").write_text("key")
    for target in (str(tmp_path / "secret"), "../secret"):
        with pytest.raises(ArchiveError, match="broken"):
            unpack(_tar(tmp_path / "a.tar.gz", ("pkg/x", b"1"), _special("pkg/h", tarfile.LNKTYPE, target)), tmp_path / "out")
    unpack(_tar(tmp_path / "b.tar.gz", ("pkg/x", b"1"), _special("pkg/h", tarfile.LNKTYPE, "pkg/x")), tmp_path / "out")
    assert (tmp_path / "out/h").read_bytes() == b"1"
    assert (tmp_path / "out/h").stat().st_nlink == 1


def test_bomb_stops_at_the_limit(tmp_path):
    archive = _tar(tmp_path / "a.tar.gz", ("pkg/zeros", bytes(3_000_000)))
    assert archive.stat().st_size < 20_000
    with pytest.raises(ArchiveError, match="larger than the limit"):
        unpack(archive, tmp_path / "out", max_bytes=1_000_000)
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("zeros", bytes(3_000_000))
    with pytest.raises(ArchiveError, match="larger than the limit"):
        unpack(tmp_path / "a.zip", tmp_path / "out", max_bytes=1_000_000)
    assert not (tmp_path / "out").exists()


def test_too_many_entries_are_refused(tmp_path):
    with pytest.raises(ArchiveError, match="more than 3 entries"):
        unpack(_tar(tmp_path / "a.tar.gz", *((f"pkg/{number}", b"") for number in range(4))), tmp_path / "out", max_files=3)


def test_git_folder_of_an_archive_never_reaches_the_disk(tmp_path):
    unpack(_tar(tmp_path / "a.tar.gz", ("pkg/.git/config", b"[core]"), ("pkg/sub/.GIT/hooks/x", b""), ("pkg/ok", b"")), tmp_path / "out")
    assert _names(tmp_path / "out") == ["ok"]


@pytest.mark.parametrize("name", ["a.tar.gz", "a.zip", "a.tar.bz2", "a.tar"])
def test_garbage_is_a_broken_archive(tmp_path, name):
    (tmp_path / name).write_bytes(bytes(range(1, 256)) * 8)
    with pytest.raises(ArchiveError, match="broken archive"):
        unpack(tmp_path / name, tmp_path / "out")


def test_truncated_archive_is_a_broken_archive(tmp_path):
    archive = _tar(tmp_path / "a.tar.gz", ("pkg/x", random.Random(0).randbytes(50_000)))
    archive.write_bytes(archive.read_bytes()[:20_000])
    with pytest.raises(ArchiveError, match="broken archive"):
        unpack(archive, tmp_path / "out")


def test_file_in_the_place_of_a_folder_is_a_broken_archive(tmp_path):
    with pytest.raises(ArchiveError, match="broken archive"):
        unpack(_tar(tmp_path / "a.tar.gz", ("pkg/a", b"1"), ("pkg/a/b", b"2")), tmp_path / "out")
