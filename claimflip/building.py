"""Builds the objects that a configuration names: ``_target_`` is a class, the settings beside it are its arguments."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from claimflip.errors import ClaimflipError, ConfigError

_PLAIN = (int, float, str, bool)


def build(settings: Mapping[str, Any], where: str, wanted: type | None = None) -> Any:
    """The object that ``settings["_target_"]`` names, which must offer what the protocol ``wanted`` asks for.

    Settings that have a ``_target_`` of their own are built first. Raises ConfigError that names the setting: no or an unknown class, one that is no
    such thing, a setting that the class does not take, lacks, or has with another plain type or a choice that there is not.
    """
    if "_target_" not in settings:
        raise ConfigError(f"{where} has no _target_: choose a configuration that exists, or name a class with +{where}._target_=package.module.Class")
    target = _loaded(str(settings["_target_"]), where)
    given = {
        name: build(value, f"{where}.{name}") if isinstance(value, dict) and "_target_" in value else value
        for name, value in settings.items()
        if not name.startswith("_")
    }
    _check(target, given, where)
    try:
        built = target(**given)
    except (ClaimflipError, OSError):
        raise
    except Exception as error:  # noqa: BLE001 - a stranger's class may raise anything
        raise ConfigError(f"{where} cannot be built: {type(error).__name__}: {error}") from None
    if wanted is not None and not isinstance(built, wanted):
        lacking = sorted(name for name in _members(wanted) if not hasattr(built, name))
        raise ConfigError(
            f"{where} ({settings['_target_']}) is no {wanted.__name__}: it lacks {', '.join(lacking)} (claimflip/protocols.py says what is needed)"
        )
    return built


def with_default(settings: Mapping[str, Any], where: str, name: str, value: Any) -> dict[str, Any]:
    """The settings with a value for ``name`` where they have none and the class takes one."""
    takes = "_target_" in settings and name in inspect.signature(_loaded(str(settings["_target_"]), where)).parameters
    return {**({name: value} if takes else {}), **settings}


def _members(protocol: type) -> set[str]:
    return {*protocol.__annotations__, *(name for name, value in vars(protocol).items() if inspect.isfunction(value) and not name.startswith("_"))}


def _loaded(name: str, where: str) -> Any:
    module, _, attribute = name.rpartition(".")
    try:
        return getattr(import_module(module), attribute)
    except Exception as error:  # noqa: BLE001 - a stranger's module may raise anything when it is imported
        raise ConfigError(f"{where}._target_={name} cannot be loaded: {type(error).__name__}: {error}") from None


def _check(target: Any, given: Mapping[str, Any], where: str) -> None:
    parameters = inspect.signature(target).parameters
    try:
        hints = typing.get_type_hints(target.__init__)
    except NameError:  # names that are imported for type checkers only
        hints = {}
    variadic = [one for one in parameters.values() if one.kind in (one.VAR_KEYWORD, one.VAR_POSITIONAL)]
    for name, value in given.items():
        if name not in parameters and not any(one.kind is one.VAR_KEYWORD for one in variadic):
            raise ConfigError(f"{where} has no setting {name!r}: it takes {', '.join(parameters)}")
        wanted = hints.get(name)
        kinds = tuple(kind for kind in _PLAIN if wanted in (kind, kind | None))
        if typing.get_origin(wanted) is typing.Literal and value not in typing.get_args(wanted):
            raise ConfigError(f"{where}.{name}={value!r} is none of {', '.join(map(str, typing.get_args(wanted)))}")
        accepted = (*kinds, int) if float in kinds else kinds
        if kinds and value is not None and (not isinstance(value, accepted) or (isinstance(value, bool) and bool not in kinds)):
            text = f"text: quote it, as '{value}'" if kinds == (str,) else kinds[0].__name__
            raise ConfigError(f"{where}.{name}={value!r} is no {text}")
    needed = {name for name, one in parameters.items() if one.default is one.empty and one not in variadic}
    if missing := sorted(needed - given.keys()):
        raise ConfigError(f"{where} lacks {', '.join(missing)}: set it with {where}.{missing[0]}=…")
