"""``python -m pellucid``: the same as the ``pellucid`` command.

Here: nothing of its own.
"""

import sys

try:
    from pellucid.cli.main import main
except KeyboardInterrupt:
    sys.exit(130)

sys.exit(main())
