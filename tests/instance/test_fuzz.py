"""Anything at all, sent to every route: nothing fails inside, and the instance lives.

The requests come from the OpenAPI document, made by Schemathesis.
"""

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error

from pellucid.instance.server import HOST, Instance
from tests.instance.loopback import http, interface, open_page
from tests.waiting import TIMEOUT_S

SCHEMA = schemathesis.openapi.from_dict(interface())
EXAMPLES = 6
# Ends the instance; and what takes long whatever is asked.
LEFT_OUT = ("/api/shutdown", "/api/movies")


@pytest.mark.filterwarnings("ignore")
@SCHEMA.exclude(path=list(LEFT_OUT)).parametrize()
@settings(
    max_examples=EXAMPLES,
    phases=[Phase.generate],
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
def test_nothing_fails_inside(case: Any, instance: Instance) -> None:
    if case.path == "/api/screenshot" and isinstance(case.query, dict):
        case.query.update({"width": 16, "height": 16})
    if case.path == "/api/shadings" and isinstance(case.body, dict) and "source" in case.body:
        case.body["source"] = f"//@{case.body['source']}"  # Refused before it is compiled, which takes seconds.
    headers = {"Authorization": f"Bearer {instance.session.access.token}"}
    answer = case.call(base_url=f"http://{HOST}:{instance.port}", headers=headers, timeout=TIMEOUT_S)
    case.validate_response(answer, checks=[not_a_server_error])


def test_the_instance_lives(instance: Instance, source: str) -> None:
    with http(instance) as client:
        assert client.post("/api/load", json={"path": source}).status_code == 200
        assert client.put("/api/compare", json={"is_on": False}).status_code == 200  # Some request may have begun it.
    with open_page(instance) as page:
        assert page.exact().rgb.shape == (48, 64, 3)
