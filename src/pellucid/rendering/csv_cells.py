"""Texts in CSV files.

Here: plain_cell.
Not here: the files (label_list, measures).
"""

FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
"""Also in their full width, which spreadsheets in East Asia take for the same."""


def plain_cell(text: str) -> str:
    """A text that no spreadsheet takes for a formula: guests may choose names, and files units.

    >>> plain_cell("=1+1"), plain_cell("nucleus")
    ("'=1+1", 'nucleus')
    """
    return f"'{text}" if text.lstrip().startswith(FORMULA) else text
