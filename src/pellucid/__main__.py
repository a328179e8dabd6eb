"""``python -m pellucid``: the same as the ``pellucid`` command.

Here: nothing of its own.
"""

import sys

from pellucid.cli.main import main

sys.exit(main())
