"""``pellucid share``: share a file by a link that expires.

Here: the command's arguments.
Not here: writing it to S3, and the link (agent.sharing).
"""

import argparse
from pathlib import Path

from pellucid.cli.arguments import positive_argument


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("share", help="upload a file to S3 and print a download link that expires")
    parser.add_argument("file", type=Path, help="file, or folder such as a .zarr, which is packed into one file")
    parser.add_argument(
        "--to", default="", metavar="s3://BUCKET/FOLDER", help="destination (default: share in the site file)"
    )
    parser.add_argument(
        "--days", type=positive_argument, default=7.0, help="days the link stays valid (default and maximum: 7)"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from pellucid.agent.sharing.share import destination, share
    from pellucid.jobs.site import read_site
    from pellucid.settings import current

    shared = share(options.file, destination(options.to, read_site(current().site_file)), options.days)
    options.result = shared.link
    print(shared.link)
    return 0
