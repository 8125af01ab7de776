"""Whether the text on a page is the answer that the app tells, although markdown became elements."""

from __future__ import annotations

import re

#: Without the underscore, which marks what is emphasised.
_WORD = re.compile(r"[^\W_]+")
#: Marks whose words are not shown: targets of links and pictures, the language of a fence, tags.
_UNSHOWN = re.compile(r"(?<=\])\([^)\n]*\)|^\s*```.*$|<[^<>\n]{1,200}>", re.MULTILINE)
_ENTITY = re.compile(r"&#?\w{1,10};")
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
    words = _WORD.findall(_ENTITY.sub(" ", _UNSHOWN.sub(" ", answer)))
    if not words:
        return None
    page = _WORD.findall(shown)
    found, end = 0, len(page)
    for word in reversed(words):
        for place in range(end - 1, max(end - _GAP - 1, -1), -1):
            if page[place] == word:
                found, end = found + 1, place
                break
    return found / len(words)
