"""``pellucid login`` and ``logout``: the site's Hub, for this person's programs.

Here: these commands' arguments.
Not here: what they do (client.login), the Hub (hub).
"""

import argparse
import sys

from pellucid.client.login import login, logout


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("login", help="use your agent behind the site's Hub; asks for a token of yours")
    parser.add_argument("url", help="of the Hub, such as https://view.site.org")
    parser.add_argument("--stdin", action="store_true", help="read the token there, instead of asking for it")
    parser.set_defaults(run=log_in)
    commands.add_parser("logout", help="forget the Hub, and its token").set_defaults(run=log_out)


def log_in(options: argparse.Namespace) -> int:
    # Never as an argument: those can be read by others.
    login(options.url, sys.stdin.readline() if options.stdin else None)
    return 0


def log_out(_: argparse.Namespace) -> int:
    logout()
    return 0
