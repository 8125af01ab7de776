"""Whether the text on a page is the answer that the app tells, although markdown became elements."""

from __future__ import annotations

import html
import re

#: Without the underscore, which marks what is emphasised.
_WORD = re.compile(r"[^\W_]+")
_FENCE = re.compile(r"^[ \t>]*(?:`{3,}|~{3,}).*$", re.MULTILINE)
#: Marks whose words are not shown, outside of code: numbers of lists, definitions of links, targets of links
#: and pictures, tags.
_UNSHOWN = re.compile(
    r"^[ \t>]*(?:\d{1,9}[.)]|[-*+])[ \t]+(?:\[[ xX]\][ \t])?"
    r"|^ {0,3}\[[^\]\n]+\]:[ \t]*\S+.*$"
    r"|(?<=\])(?:\([^)\n]*\)|\[[^\]\n]*\])"
    r"|<[^<>\n]{1,200}>",
    re.MULTILINE,
)
#: Marks that may stand inside a word and part none: in the middle of a text without spaces, for one.
_INSIDE = re.compile(r"\\(?=[!-/:-@\[-`{-~])|[*`~]+")
#: How many words of the page may stand between two of the answer: labels of buttons, names of languages.
_GAP = 60


def shown_ratio(answer: str, shown: str) -> float | None:
    r"""Return the share of an answer's words that stand on the page in the same order.

    The last answer is looked for: from the end backwards.

    Parameters
    ----------
    answer : str
        Markdown, as the app tells it.
    shown : str
        Text of the page's answers.

    Returns
    -------
    float or None
        0..1; None: the answer has no words.

    Examples
    --------
    >>> shown_ratio("**Bold** and [a link](http://x.y)", "Bold and a link")
    1.0
    """
    parts = _FENCE.split(answer)
    parts[::2] = [_UNSHOWN.sub(" ", text) for text in parts[::2]]  # those between are code
    words = _words("\n".join(parts))
    if not words:
        return None
    page = _words(shown)
    found, end = 0, len(page)
    for word in reversed(words):
        for place in range(end - 1, max(end - _GAP - 1, -1), -1):
            if page[place] == word:
                found, end = found + 1, place
                break
    return found / len(words)


def _words(text: str) -> list[str]:
    return _WORD.findall(_INSIDE.sub("", html.unescape(text)))
