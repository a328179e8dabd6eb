"""The page of errors: its rows say what the classes say."""

import ast

from tools.generate_error_reference import rows

SOURCE = '''
class PellucidError(Exception):
    """The base."""

class Gone(PellucidError):
    """A volume | that left.

    More about it.
    """
    is_transient = True

    def __init__(self, path, why):
        do = f"Look for {path}."
        super().__init__(f"{path} is gone: {why!r} and {len(path)}.", do=do)

class Plain(PellucidError):
    """What others say."""
'''


def test_a_row_has_the_name_the_meaning_and_both_sentences() -> None:
    assert list(rows(ast.parse(SOURCE))) == [
        "| `Gone` *(transient)* | A volume \\| that left. | ⟨path⟩ is gone: ⟨why⟩ and …. Look for ⟨path⟩. |",
        "| `Plain` | What others say. | … |",
    ]
