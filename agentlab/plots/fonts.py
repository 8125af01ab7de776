"""Letters that figures can draw: those of DejaVu Sans, and for other scripts those of what is installed."""

from __future__ import annotations

import dataclasses
import functools

#: Comes with matplotlib: the same letters on every machine.
_FIRST = "DejaVu Sans"
#: Fonts with Chinese, Japanese and Korean letters on Linux, macOS and Windows, those that have most first.
_OTHERS = (
    *("Noto Sans CJK JP", "Noto Sans CJK SC", "Source Han Sans"),
    *("Noto Sans JP", "Noto Sans SC", "Noto Sans KR"),
    *("WenQuanYi Zen Hei", "WenQuanYi Micro Hei", "Droid Sans Fallback"),
    *("IPAexGothic", "IPAGothic", "TakaoGothic", "VL Gothic", "NanumGothic", "Unifont"),
    *("Hiragino Sans", "PingFang SC", "Apple SD Gothic Neo", "Arial Unicode MS"),
    *("Yu Gothic", "Microsoft YaHei", "Malgun Gothic", "SimHei", "MS Gothic"),
)
#: A box for any letter (from matplotlib 3.11 on); asked for by name it is no reason for a warning.
_LAST = "Last Resort High-Efficiency"


@functools.cache
def families() -> list[str]:
    """Return the fonts of figures in the order in which a letter is looked for.

    Returns
    -------
    list of str
        Only what is installed.

    Examples
    --------
    >>> families()[0]
    'DejaVu Sans'
    """
    from matplotlib.font_manager import fontManager

    fonts = {font.name: font for font in fontManager.ttflist}
    bold = {font.name for font in fontManager.ttflist if font.weight in ("bold", 700)}
    found = [name for name in (*_OTHERS, _LAST) if name in fonts]
    # matplotlib logs a complaint for each of them that has no bold letters, whether or not one is drawn
    plain = [fonts[name] for name in found if name not in bold]
    fontManager.ttflist += [dataclasses.replace(font, weight=700) for font in plain]
    return [_FIRST, *found]
