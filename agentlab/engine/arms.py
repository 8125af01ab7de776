"""What an arm is given as, and the driver it means; a slip is answered with what to write instead."""

from __future__ import annotations

from typing import Any

from ..drivers.base import Driver, Identity
from ..errors import ConfigError
from .codec import resolve


def driver_of(name: str, arm: Any) -> Driver:  # noqa: ANN401
    """Return the driver of an arm.

    Parameters
    ----------
    name : str
        Name of the arm.
    arm : Driver or str
        A driver, or ``"module:function"`` that makes one.

    Returns
    -------
    Driver

    Raises
    ------
    ConfigError
        It is neither.
    """
    if isinstance(arm, str) and ":" not in arm:
        raise ConfigError(
            f"arm {name!r}: {arm!r} is text; give a driver, e.g. OpenCode('provider/model'), or "
            "'module:function' that makes one"
        )
    driver: Any = resolve(arm)() if isinstance(arm, str) else arm
    if isinstance(driver, type):
        raise ConfigError(f"arm {name!r}: {driver.__name__} is a class; call it: {driver.__name__}(...)")
    if not isinstance(driver, Driver):
        raise ConfigError(f"arm {name!r}: {driver!r:.80} is no driver (it needs identify() and open(arm))")
    return driver


def identity_of(name: str, driver: Driver) -> Identity:
    """Ask a driver what is measured.

    Parameters
    ----------
    name : str
        Name of the arm.
    driver : Driver
        Its driver.

    Returns
    -------
    Identity

    Raises
    ------
    ConfigError
        The driver says something else.
    """
    identity: Any = driver.identify()
    if not isinstance(identity, Identity):
        raise ConfigError(
            f"arm {name!r}: {type(driver).__name__}.identify() returned {identity!r:.60}; return an "
            "agentlab.drivers.base.Identity(driver=..., version=...)"
        )
    return identity
