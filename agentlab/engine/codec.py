"""Settings as plain data: how drivers and gateways reach the measuring process.

Only frozen dataclasses of importable modules cross, field by field; nothing is pickled.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from ..errors import ConfigError

_TYPE = "$type"
_PATH = "$path"


def encode(value: Any, where: str = "") -> Any:  # noqa: ANN401
    """Turn settings into plain JSON data.

    Parameters
    ----------
    value : object
        JSON data, paths, decimals, and frozen dataclasses of importable modules, nested at will.
    where : str
        Name of the setting, for messages.

    Returns
    -------
    JSON data

    Raises
    ------
    ConfigError
        Something else is among them, or a class of a notebook.

    Examples
    --------
    >>> decode(encode(Path("a")))
    PosixPath('a')
    """
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, Decimal):
        return format(value, "f")  # settings that take a decimal take its text
    if isinstance(value, Path):
        return {_PATH: str(value)}
    if isinstance(value, Mapping):
        items = cast("Mapping[Any, Any]", value).items()
        return {str(key): encode(item, f"{where}[{key!r}]") for key, item in items}
    if isinstance(value, (list, tuple)):
        return [encode(item, f"{where}[{i}]") for i, item in enumerate(cast("list[Any]", value))]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        name = f"{type(value).__module__}:{type(value).__qualname__}"
        if name.startswith("__main__:") or "<locals>" in name:
            raise ConfigError(
                f"{where or 'arm'}: {type(value).__name__} is defined in the notebook or script, and the "
                'measuring process cannot import it; use host="inline", or move it into a module'
            )
        fields = {
            field.name: encode(getattr(value, field.name), f"{where}.{field.name}".lstrip("."))
            for field in dataclasses.fields(value)
            if field.init
        }
        return {_TYPE: name, **fields}
    if isinstance(value, type):
        raise ConfigError(f"{where or 'arm'}: {value.__name__} is a class; call it: {value.__name__}(...)")
    raise ConfigError(
        f"{where or 'arm'}: {_shown(value)} is neither plain data nor an importable frozen dataclass; give "
        '"module:function" (called there to make the driver), or use host="inline"'
    )


def _shown(value: Any) -> str:  # noqa: ANN401
    """Name a lambda or function without its address, anything else as it shows itself."""
    name = getattr(value, "__name__", None)
    return f"the function {name}" if callable(value) and isinstance(name, str) else f"{value!r:.80}"


def decode(data: Any) -> Any:  # noqa: ANN401
    """Rebuild what :func:`encode` made.

    Parameters
    ----------
    data : JSON data
        Encoded settings.

    Returns
    -------
    object
    """
    if isinstance(data, list):
        return [decode(item) for item in cast("list[Any]", data)]
    if not isinstance(data, dict):
        return data
    mapping = cast("dict[str, Any]", data)
    if _PATH in mapping:
        return Path(mapping[_PATH])
    fields = {key: decode(value) for key, value in mapping.items() if key != _TYPE}
    return resolve(mapping[_TYPE])(**fields) if _TYPE in mapping else fields


def resolve(name: str) -> Any:  # noqa: ANN401
    """Import an object by name.

    Parameters
    ----------
    name : str
        ``"module:attribute"``.

    Returns
    -------
    object

    Raises
    ------
    ConfigError
        There is no such module or attribute.
    """
    module, _, attribute = name.partition(":")
    try:
        found: Any = import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(f"{name!r} cannot be imported: {error}; write 'module:function'") from error
    return found
