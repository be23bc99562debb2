"""The command ``claimflip``: reads configuration, builds what it names, hands it to the stages. The only importer of hydra."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from claimflip import __version__
from claimflip.errors import ClaimflipError, ConfigError

COMMANDS = {
    "mine": "find changes and collect their claims",
    "label": "run every claim at t and t+1 and say what is true",
    "score": "ask the arms the questions of a split",
    "report": "write tables, figures and the page",
    "bench": "all four, one after another",
    "arms": "list the arms that can be asked",
    "doctor": "say what this machine has, and what each missing thing costs",
}
CONFIGS = Path(__file__).resolve().parent.parent / "configs"


def main() -> None:
    """Entry point: exits with 0, or with 2 and one line on standard error where something that the user can mend is wrong."""
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        sys.stdout.write(usage())
        return
    if arguments[0] in ("-V", "--version"):
        sys.stdout.write(f"claimflip {__version__}\n")
        return
    command, rest = arguments[0], arguments[1:]
    try:
        if command not in COMMANDS:
            raise ConfigError(f"there is no command {command!r}: choose one of {', '.join(COMMANDS)}")
        if "-h" in rest or "--help" in rest:
            sys.stdout.write(usage(command))
        elif command == "arms":
            sys.stdout.write(_list_of_arms())
        elif command == "doctor":
            from claimflip import doctor

            sys.stdout.write(doctor.report())
        else:
            _configured(command, rest)
    except ClaimflipError as error:
        _fail(str(error))
    except OSError as error:
        _fail(f"{error.filename or command}: {error.strerror or error}: make room or give rights there, then run the same command again, nothing is lost")
    except KeyboardInterrupt:
        sys.stderr.write("claimflip: stopped; the same command goes on from here\n")
        sys.stderr.flush()
        os._exit(130)  # without waiting for runs under way: the kernel ends them with us


def _fail(message: str) -> None:
    sys.stderr.write(f"claimflip: {' '.join(message.split())}\n")
    sys.exit(2)


def usage(command: str = "") -> str:
    """The help text: commands, configuration groups with their choices, and how to override a setting. Imports nothing heavy."""
    lines = [f"claimflip {__version__}: which stored claims about this code became false?", ""]
    if command:
        lines += [f"usage: claimflip {command} [SETTING=VALUE …]", f"  {COMMANDS[command]}", ""]
    else:
        lines += ["usage: claimflip COMMAND [SETTING=VALUE …]", "", *(f"  {name:<8}{what}" for name, what in COMMANDS.items()), ""]
    lines += ["choices:"]
    for group in sorted(path for path in CONFIGS.iterdir() if path.is_dir() and any(path.glob("*.yaml"))):
        lines.append(f"  {group.name}={'|'.join(sorted(path.stem for path in group.glob('*.yaml')))}")
    lines += [
        "",
        "examples:",
        "  claimflip bench corpus=quickstart oracle.runs=3",
        "  claimflip score corpus=quickstart arms=[a0,a4]",
        "  claimflip bench -m corpus=worlds corpus.each.seed=0,1",
        "  claimflip bench --cfg job          shows every setting and runs nothing",
    ]
    return "\n".join(lines) + "\n"


def _configured(command: str, overrides: Sequence[str]) -> None:
    """Compose the configuration with hydra and run the command once for each combination that the overrides ask for."""
    os.environ["HYDRA_FULL_ERROR"] = "1"  # have hydra raise instead of printing a traceback of its own
    import hydra
    from hydra.errors import HydraException, MissingConfigException
    from omegaconf.errors import OmegaConfBaseException

    sys.argv = [f"claimflip {command}", *overrides]
    sys.meta_path.append(_CurrentFolder())
    failed: list[Exception] = []

    def job(cfg: Any) -> None:
        try:
            _run(command, cfg)
        except (ClaimflipError, OSError, HydraException, OmegaConfBaseException) as error:
            failed.append(error)  # raised below: hydra would put a line of its own before ours

    entry: Callable[[], Any] = hydra.main(version_base="1.3", config_path="pkg://configs", config_name="bench")(job)
    try:
        entry()
        if failed:
            raise failed[0]
    except (HydraException, OmegaConfBaseException) as error:
        causes: list[BaseException] = [error]
        while (cause := causes[-1].__cause__) is not None:
            causes.append(cause)
        for cause in causes:
            if isinstance(cause, MissingConfigException):  # an OSError too
                raise ConfigError(_no_such_choice(str(cause.missing_cfg_file), cause.options)) from None
            if isinstance(cause, ClaimflipError | OSError):
                raise cause from None
        reason = next((str(cause) for cause in causes if str(cause)), type(error).__name__)
        raise ConfigError(f"{reason}: see 'claimflip {command} --help' for the choices and 'claimflip {command} --cfg job' for every setting") from None


def _no_such_choice(missing: str, options: Sequence[str] | None) -> str:
    group, _, name = missing.rpartition("/")
    known = sorted(options or (path.stem for path in (CONFIGS / group).glob("*.yaml")))
    return f"there is no {group}={name}: choose among {', '.join(known)}, or give the folder of your own configurations with --config-dir FOLDER"


class _CurrentFolder:
    """Finds modules in the current folder, for an arm of one's own; asked last, so that nothing there can stand before a module of ours.

    An entry of ``sys.path``, be it the last, would come before the finder of an editable install.
    """

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, _target: Any = None) -> Any:
        """The spec of a top-level module there, or ``None``."""
        from importlib.machinery import PathFinder

        return PathFinder.find_spec(name, [str(Path.cwd())]) if path is None else None


def _run(command: str, cfg: Any) -> None:
    from omegaconf import OmegaConf

    from claimflip import pipeline
    from claimflip.building import build, with_default
    from claimflip.corpus import Corpus
    from claimflip.ledger import Ledger
    from claimflip.protocols import Arm, Oracle, Reporter, Split

    stages = list(COMMANDS)[:4] if command == "bench" else [command]
    if missing := _missing(OmegaConf.to_container(cfg, resolve=False)):
        raise ConfigError(f"{' and '.join(missing)} must be set: {' '.join(f'{name}=…' for name in missing)}")
    OmegaConf.resolve(cfg)
    folder = _folder(cfg)
    if stages[0] != "mine":
        Corpus(folder).info()  # before anything is made there: a mistyped folder must not come into being
    split, reporter = build(_plain(cfg.split), "split", Split), build(_plain(cfg.report), "report", Reporter)
    arms = []
    for name, given in cfg.arms.items():
        params = with_default(_plain(given), f"arms.{name}", "name", name)  # predictions are stored under it
        arms.append(pipeline.ArmSetting(arm=build(params, f"arms.{name}", Arm), params=params))
    for name, one in zip(cfg.arms, arms, strict=True):
        if sum(other.arm.name == one.arm.name for other in arms) > 1:
            raise ConfigError(f"arms.{name} and another arm are both called {one.arm.name!r}: give each its own name with arms.{name}.name=…")
    sources = _sources(cfg.corpus)
    oracle = build(_plain(cfg.oracle), "oracle", Oracle)
    corpus = Corpus.create(folder)
    with corpus.lock():
        ledger = Ledger(corpus.ledger_path)
        try:
            settings = {"oracle": _recorded(cfg.oracle)}
            if "mine" in stages:
                everything = {"corpus": _recorded(cfg.corpus), **settings}
                pipeline.mine(corpus, sources, oracle, ledger, name=str(cfg.corpus.name), settings=everything, workers=cfg.workers)
            if "label" in stages:
                # one change more than workers, so that a tree is ready when a probe ends
                pipeline.label(corpus, sources, oracle, ledger, settings=settings, workers=cfg.workers + 1)
            if "score" in stages:
                pipeline.score(corpus, sources, split, arms, ledger, workers=cfg.workers)
            if "score" in stages or "report" in stages:
                sys.stdout.write(f"{reporter.summary(corpus, split.name)}\n")
            if "report" in stages:
                sys.stdout.write(f"report: {reporter.write(corpus, split.name)}\n")
        finally:
            ledger.close()


def _sources(corpus: Any) -> list[Any]:
    """The corpus's sources, by name; ``only`` picks some of them, ``each`` holds settings that they share."""
    from claimflip.building import build
    from claimflip.protocols import Source

    settings = _plain(corpus)
    named, only, shared = settings.get("sources"), settings.get("only"), settings.get("each") or {}
    if not isinstance(named, dict) or not named:
        raise ConfigError("corpus.sources must name at least one source, as corpus.sources.mylib.location=…")
    if only is not None and not isinstance(only, list):
        raise ConfigError(f"corpus.only={only!r} is no list: write corpus.only=[{only}]")
    strange = set(only or ()) - named.keys()
    if strange:
        raise ConfigError(f"corpus.only names {min(strange)!r}, which is no source of this corpus: choose among {', '.join(named)}")
    chosen = {name: given for name, given in named.items() if not only or name in only}
    return [build({"repo": name, **shared, **(given or {})}, f"corpus.sources.{name}", Source) for name, given in chosen.items()]


def _folder(cfg: Any) -> Path:
    """The corpus folder; each job of a multirun has its own, named after what differs between the jobs."""
    from hydra.core.hydra_config import HydraConfig
    from hydra.types import RunMode

    job = HydraConfig.get()
    name = str(cfg.out)
    if job.mode == RunMode.MULTIRUN:
        own = [override for override in job.overrides.task if override not in sys.argv]  # what was not given as it stands was one choice of several
        name = ",".join([name, *(override.replace("/", "_") for override in sorted(own))])
    return Path(name)


def _missing(settings: Any, where: str = "") -> list[str]:
    """The dotted names of settings that a configuration leaves to the user."""
    if isinstance(settings, dict):
        return [name for key, value in settings.items() for name in _missing(value, f"{where}.{key}" if where else str(key))]
    return [where] if settings == "???" else []


def _plain(given: Any) -> dict[str, Any]:
    from omegaconf import OmegaConf

    found = OmegaConf.to_container(given, resolve=True) if OmegaConf.is_config(given) else given
    return {str(key): value for key, value in found.items()} if isinstance(found, dict) else {}


def _recorded(given: Any) -> dict[str, Any]:
    """Settings as they go into corpus.json: without folders and addresses, which sources describe themselves, and without what moves no result."""
    hidden = {"cache", "workers", "location"}
    return {key: (_recorded(value) if isinstance(value, dict) else value) for key, value in _plain(given).items() if key not in hidden}


def _list_of_arms() -> str:
    """Every arm that has a configuration, with its class and the first sentence about it."""
    from importlib import import_module

    from omegaconf import OmegaConf

    lines = []
    for path in sorted((CONFIGS / "arms").glob("*.yaml")):
        name = str(OmegaConf.load(path)["_target_"])  # type: ignore[index]
        module, _, cls = name.rpartition(".")
        about = next(iter((getattr(import_module(module), cls).__doc__ or "").strip().splitlines()), "")
        lines.append(f"{path.stem:<6} {name:<42} {about}")
    return "\n".join(lines) + "\n"
