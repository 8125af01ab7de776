"""Give Pi the shared tools in place of its own, so that it can be compared on equal terms."""

from __future__ import annotations

from pathlib import Path

#: Pi's own extension interface (0.73); loaded with ``-e``.
EXTENSION = Path(__file__).with_name("pi_extension.ts")


def pi_flags(system: str | None = None) -> tuple[str, ...]:
    """Return the arguments that give Pi the shared tools of the gateway that is its provider.

    Parameters
    ----------
    system : str, optional
        System text in place of Pi's own, e.g. :data:`agentlab.tools.SYSTEM`; Pi adds date and folder to it.
        Behind a gateway in pinned mode the pin's is used.

    Returns
    -------
    tuple of str

    Examples
    --------
    >>> pi_flags()[0]  # for AgentCLI("pi", flags=pi_flags())
    '--no-builtin-tools'
    """
    own = () if system is None else ("--system-prompt", system)
    return ("--no-builtin-tools", "--extension", str(EXTENSION), *own)
