"""Login of a browser: to the Hub and back.

Here: OAuthLogin: OAuth 2 with PKCE (RFC 7636), where the Hub is who decides.
Not here: what a token allows (users), cookies and answers (auth).
"""

import hashlib
import secrets
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import urlencode

from pellucid.agent.hub.environment import HubEnvironment
from pellucid.agent.hub.users import HubUnavailable, ask_hub
from pellucid.dataclass_json import from_reply
from pellucid.errors import InvalidInput

LASTS_S = 600.0
MAX_WAITING = 100
FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True)
class LoginAttempt:
    """back: where the browser wanted to go. verifier: proves that who brings the code is who asked for it."""

    back: str
    began_at: float
    verifier: str = field(repr=False)


@dataclass(frozen=True)
class OAuthToken:
    """Of the Hub's answer to a code; "" where it refuses."""

    access_token: str = field(default="", repr=False)


class OAuthLogin:
    """Log-in attempts are stored here; the browser knows each by a random name."""

    def __init__(self, hub: HubEnvironment, clock: Callable[[], float] = time.monotonic) -> None:
        self._hub, self._clock = hub, clock
        self._attempts: dict[str, LoginAttempt] = {}

    def begin(self, back: str) -> tuple[str, str]:
        """The address at the Hub to go to, and the name of the attempt, for a cookie."""
        state, verifier = secrets.token_urlsafe(24), secrets.token_urlsafe(48)
        self._attempts[state] = LoginAttempt(back, self._clock(), verifier)
        while len(self._attempts) > MAX_WAITING:
            del self._attempts[next(iter(self._attempts))]
        challenge = urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        query = {
            "client_id": self._hub.client_id, "redirect_uri": self._hub.callback, "response_type": "code",
            "state": state, "code_challenge": challenge, "code_challenge_method": "S256",
        }  # fmt: skip
        return f"{self._hub.hub_url}/api/oauth2/authorize?{urlencode(query)}", state

    def finish(self, code: str, state: str, in_cookie: str) -> tuple[str, str]:
        """The token, "" where there is none to be had, and where the browser wanted to go.

        state: as it came back from the Hub; in_cookie: as this browser has it, so that a link cannot log a user in.
        """
        attempt = self._attempts.pop(state, None)
        is_same = secrets.compare_digest(state.encode(), in_cookie.encode())
        if attempt is None or not is_same or self._clock() - attempt.began_at > LASTS_S:
            return "", f"{self._hub.prefix}/"
        form = {
            "client_id": self._hub.client_id, "client_secret": self._hub.api_token,
            "grant_type": "authorization_code", "code": code, "redirect_uri": self._hub.callback,
            "code_verifier": attempt.verifier,
        }  # fmt: skip
        answer = ask_hub(f"{self._hub.api_url}/oauth2/token", "", urlencode(form).encode(), FORM)
        try:
            token: OAuthToken = from_reply(OAuthToken, answer, "the Hub's reply")
        except InvalidInput as error:
            raise HubUnavailable(str(error)) from error
        return token.access_token, attempt.back
