"""``pellucid login`` and ``logout``: use the site's Hub from programs.

Here: these commands' arguments.
Not here: what they do (client.login), the Hub (hub).
"""

import argparse
import sys

from pellucid.client.login import login, logout


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("login", help="log in to the site's JupyterHub; asks for an API token")
    parser.add_argument("url", help="address of the Hub, such as https://view.site.org")
    parser.add_argument(
        "--stdin", action="store_true", help="read the token from standard input instead of asking for it"
    )
    parser.set_defaults(run=log_in)
    commands.add_parser("logout", help="log out: delete the address and the token of the Hub").set_defaults(run=log_out)


def log_in(options: argparse.Namespace) -> int:
    # Never as an argument: those can be read by others.
    login(options.url, sys.stdin.readline() if options.stdin else None)
    return 0


def log_out(_: argparse.Namespace) -> int:
    logout()
    return 0
