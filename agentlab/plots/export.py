"""``save``: a figure as PDF, SVG and PNG with its data, equal bytes each time; ``figure_info`` reads back."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import html
import io
import os
import re
import warnings
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError, ImportFormatError, RecordingError
from .canvas import origin_of, root_figure
from .provenance import decode, encode, metadata
from .style import style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_FORMATS = ("pdf", "svg", "png")
_DATA = ("csv", "parquet")
_OTHERS = ("eps", "gif", "jpeg", "jpg", "ps", "tif", "tiff", "webp")


@dataclasses.dataclass(frozen=True)
class Saved:
    """The files that :func:`save` wrote; iterates over their paths.

    Parameters
    ----------
    pdf, svg, png : pathlib.Path
        The figure.
    csv, parquet : pathlib.Path, optional
        What it shows.
    """

    pdf: Path
    svg: Path
    png: Path
    csv: Path | None = None
    parquet: Path | None = None

    def __iter__(self) -> Iterator[Path]:
        paths = (getattr(self, field.name) for field in dataclasses.fields(self))
        return (path for path in paths if path is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return "Saved " + ", ".join(f"{path} ({_size(path)})" for path in self)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        rows = "".join(
            f"<li><a href='{html.escape(str(p), quote=True)}'>{html.escape(str(p))}</a> ({_size(p)})</li>"
            for p in self
        )
        return {"text/plain": repr(self), "text/html": f"<div>Saved<ul style='margin:0'>{rows}</ul></div>"}


def _size(path: Path) -> str:
    try:
        return f"{path.stat().st_size / 1000:,.0f} kB"
    except OSError:
        return "gone"


def save(ax: Axes | Figure, stem: str | os.PathLike[str], *, data: pd.DataFrame | None = None) -> Saved:
    """Save a figure as PDF, SVG and PNG, and what it shows as CSV and Parquet.

    The files carry where they come from (version of agentlab, studies and digests, metrics, interval method,
    seed, a hash of the data), which :func:`figure_info` reads back. Saving the same figure twice gives equal
    bytes; a date is written only if ``SOURCE_DATE_EPOCH`` is set. All files are made before the first one
    replaces an older one.

    Parameters
    ----------
    ax : matplotlib.axes.Axes or Figure
        Its whole figure is saved.
    stem : path
        Path without an extension, e.g. ``"figures/cache"``. Parent folders are made.
    data : pandas.DataFrame, optional
        What is drawn, e.g. the estimates.

    Returns
    -------
    Saved
        The paths.

    Raises
    ------
    ConfigError
        If `ax`, `stem` or `data` cannot be used, or the folder cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from agentlab.plots.estimates import plot_estimates
    >>> from agentlab.testing.estimates import estimates_frame
    >>> estimates = estimates_frame()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     saved = save(plot_estimates(estimates), f"{folder}/cache", data=estimates)
    ...     [path.name for path in saved], figure_info(saved.pdf)["metrics"]
    (['cache.pdf', 'cache.svg', 'cache.png', 'cache.csv', 'cache.parquet'], ['TTFT'])
    """
    figure = root_figure(ax)
    if figure is None:
        raise ConfigError(f"save({type(ax).__name__}): give the Axes of a plot_* function, or its figure")
    base = _stem(stem)
    tables = {} if data is None else _tables(data)
    provenance = _provenance(figure, data, tables)
    if "parquet" in tables:
        tables["parquet"] = _parquet(data, provenance)
    with style(), _laid_out(figure):
        contents = {fmt: _render(figure, fmt, provenance, base.name) for fmt in _FORMATS}
    contents |= tables
    return Saved(**_write(base, contents))


def figure_info(file: str | os.PathLike[str]) -> dict[str, Any]:
    """Read where a saved figure comes from.

    Parameters
    ----------
    file : path
        A PDF, SVG or PNG that :func:`save` wrote.

    Returns
    -------
    dict
        ``agentlab`` and ``matplotlib`` (versions), ``date`` or None, ``studies``, ``metrics``, ``arms``,
        ``intervals``, ``levels``, ``seeds``, ``drawn_by`` (one entry per drawing) and ``data``.

    Raises
    ------
    ConfigError
        If there is no such file.
    ImportFormatError
        If the file holds no provenance of agentlab.

    Examples
    --------
    >>> import tempfile
    >>> from matplotlib.figure import Figure
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     figure_info(save(Figure(), f"{folder}/empty").svg)["date"] is None
    True
    """
    path = Path(file)
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"figure_info({str(path)!r}): cannot be read: {error.strerror}") from error
    found = decode(raw)
    if found is None:
        raise ImportFormatError(
            f"figure_info({str(path)!r}): no provenance of agentlab in it. It was not written by "
            "agentlab.save, or another program rewrote the file without its metadata."
        )
    return found


def _stem(stem: Any) -> Path:  # noqa: ANN401
    if not isinstance(stem, (str, os.PathLike)):
        raise ConfigError(f"save(stem={stem!r}): give a path, e.g. 'figures/cache'")
    text = os.fspath(stem)
    path = Path(text)
    problem = None
    if not text.strip() or "\0" in text or text.endswith(("/", os.sep)) or path.name in ("", ".", ".."):
        problem = "give a path that ends in a file's name without extension, e.g. 'figures/cache'"
    elif path.suffix.lower().removeprefix(".") in (*_FORMATS, *_DATA, *_OTHERS):
        plain = str(path.with_suffix(""))
        problem = f"give it without {path.suffix!r}: PDF, SVG and PNG are written, e.g. {plain!r}"
    elif path.is_dir():
        problem = f"that is a folder; add a name, e.g. {str(path / 'figure')!r}"
    if problem:
        raise ConfigError(f"save(stem={text!r}): {problem}")
    return path


def _provenance(figure: Figure, data: Any, tables: dict[str, bytes]) -> dict[str, Any]:  # noqa: ANN401
    import matplotlib

    from .. import __version__

    origin = origin_of(figure)
    merged: dict[str, list[Any]] = {}
    for drawing in origin.get("drawn_by", []):
        for key in ("studies", "metrics", "arms", "intervals", "levels", "seeds"):
            merged.setdefault(key, []).extend(v for v in drawing.get(key, []) if v not in merged.get(key, []))
    shown = None
    if data is not None:
        shown = {"rows": len(data), "columns": len(data.columns), "csv_sha256": _sha(tables["csv"])}
    return {
        "agentlab": __version__,
        "matplotlib": matplotlib.__version__,
        "date": _date(),
        **merged,
        **origin,
        "data": shown,
    }


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _date() -> str | None:
    """Give the date that reproducible builds ask for, or none."""
    from datetime import UTC, datetime

    epoch = os.environ.get("SOURCE_DATE_EPOCH", "").strip()
    if not epoch:
        return None
    try:
        return datetime.fromtimestamp(int(epoch), UTC).isoformat()
    except (ValueError, OverflowError, OSError) as error:
        raise ConfigError(f"SOURCE_DATE_EPOCH={epoch!r}: must be whole seconds since 1970") from error


def _tables(data: Any) -> dict[str, bytes]:  # noqa: ANN401
    if not hasattr(data, "to_csv") or not hasattr(data, "columns"):
        raise ConfigError(f"save(data={type(data).__name__}): give the DataFrame that is drawn")
    return {"csv": data.to_csv(index=False, lineterminator="\n").encode(), "parquet": b""}


def _parquet(data: Any, provenance: dict[str, Any]) -> bytes:  # noqa: ANN401
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table: Any = pa.Table.from_pandas(data, preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise ConfigError(f"save(data=...): a column cannot be written to Parquet: {error}") from error
    table = table.replace_schema_metadata(
        {**(table.schema.metadata or {}), b"agentlab": encode(provenance).encode()}
    )
    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd")
    return sink.getvalue()


@contextlib.contextmanager
def _laid_out(figure: Figure) -> Generator[None]:
    """Lay a figure out once for all formats, at rounded places.

    A layout starts from the one before and comes closer to its end by a factor of a thousand each time: after
    a few rounds the places no longer depend on whether a notebook has shown the figure.
    """
    engine = figure.get_layout_engine()
    if engine is None:
        yield
        return
    for _ in range(5):
        engine.execute(figure)
    figure.set_layout_engine("none")
    for ax in figure.axes:
        counts = ax.get_in_layout()
        ax.set_position([round(float(edge), 6) for edge in ax.get_position().bounds])  # pyright: ignore[reportArgumentType]
        ax.set_in_layout(counts)  # set_position says that the layout shall leave it alone
    for text in figure.texts:
        x, y = text.get_position()
        text.set_position((round(float(x), 6), round(float(y), 6)))
    try:
        yield
    finally:
        figure.set_layout_engine(engine)


def _render(figure: Figure, fmt: str, provenance: dict[str, Any], title: str) -> bytes:
    sink = io.BytesIO()
    figure.savefig(
        sink, format=fmt, metadata=metadata(fmt, provenance, title), facecolor="white", edgecolor="white",
        bbox_inches="tight", pad_inches=0.05,
    )  # fmt: skip
    return _number_ids(sink.getvalue()) if fmt == "svg" else sink.getvalue()


def png(ax: Axes | Figure, *, dpi: int) -> bytes:
    """Render a figure into a small PNG in memory: 64 colours are enough for lines, letters and 7 arms.

    Parameters
    ----------
    ax : matplotlib.axes.Axes or Figure
        Its whole figure.
    dpi : int
        Pixels an inch.

    Returns
    -------
    bytes
    """
    from PIL import Image  # comes with matplotlib

    figure = root_figure(ax)
    if figure is None:
        raise ConfigError(f"png({type(ax).__name__}): give the Axes of a plot_* function, or its figure")
    sink = io.BytesIO()
    with style(), warnings.catch_warnings():
        # A name in letters that the font lacks: what shows this picture has the name as text, too.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        # A figure that arranges itself has nothing outside its edges; to look for it takes another draw.
        trimmed: dict[str, Any] = {"bbox_inches": "tight", "pad_inches": 0.05}
        if figure.get_layout_engine() is not None:
            trimmed = {}
        figure.savefig(sink, format="png", dpi=dpi, facecolor="white", **trimmed)
    small = io.BytesIO()
    with Image.open(sink) as image:
        image.convert("RGB").quantize(64, dither=Image.Dither.NONE).save(small, "png", optimize=True)
    return small.getvalue()


def _number_ids(svg: bytes) -> bytes:
    """Number the ids of an SVG.

    Matplotlib makes them from positions, whose last bit may differ when a figure is laid out a second time.
    """
    ids = dict.fromkeys(re.findall(rb'\bid="([a-z][0-9a-f]{10})"', svg))
    names = {name: b"%s%d" % (name[:1], i) for i, name in enumerate(ids)}
    return re.sub(
        rb'(\bid="|"#|\(#)([a-z][0-9a-f]{10})(?=[")])',
        lambda match: match[1] + names.get(match[2], match[2]),
        svg,
    )


def _write(base: Path, contents: dict[str, bytes]) -> dict[str, Path]:
    """Write all files beside their places, then move them there; an error leaves what was there before."""
    staged: dict[Path, Path] = {}
    try:
        base.parent.mkdir(parents=True, exist_ok=True)
        for suffix, content in contents.items():
            final = base.with_name(f"{base.name}.{suffix}")
            staged[final] = base.with_name(f".{base.name}.{suffix}.{os.getpid()}.tmp")
            staged[final].write_bytes(content)
        for final, temporary in staged.items():
            temporary.replace(final)
    except OSError as error:
        kind = RecordingError if error.errno in (28, 122) else ConfigError  # no space left, over quota
        raise kind(
            f"save(stem={str(base)!r}): cannot be written: {error.strerror} ({error.filename or base.parent})"
        ) from error
    finally:
        for temporary in staged.values():
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
    return {suffix: base.with_name(f"{base.name}.{suffix}") for suffix in contents}
