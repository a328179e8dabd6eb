"""Cinematic scenes name files and cost time: both only as far as a link allows."""

from pathlib import Path

from pellucid.instance.server import Instance
from tests.instance.loopback import http


def change(name: str, value: object) -> dict[str, object]:
    return {"changes": [{"path": ["cinematic", name], "value": value}]}


def test_light_comes_from_files_of_the_owner_only(fresh: Instance, source: str) -> None:
    inside, outside = f"{source}.hdr", "/etc/light.hdr"
    with http(fresh) as owner, http(fresh, "control") as guest:
        assert guest.patch("/api/scene", json=change("environment", inside)).status_code == 403
        assert guest.patch("/api/scene", json=change("environment", "sky")).status_code == 200
        assert owner.patch("/api/scene", json=change("environment", outside)).status_code >= 400
        assert owner.patch("/api/scene", json=change("environment", inside)).status_code >= 400  # There is none yet.
        Path(inside).touch()
        assert owner.patch("/api/scene", json=change("environment", inside)).status_code == 200
        assert owner.get("/api/scene").json()["scene"]["cinematic"]["environment"] == inside
        seen = guest.get("/api/scene").json()["scene"]["cinematic"]["environment"]
    assert seen == inside.rpartition("/")[2]


def test_guests_do_not_make_images_slow(fresh: Instance) -> None:
    with http(fresh) as owner, http(fresh, "control") as guest:
        for name, least, most in (("samples", 1024, 4096), ("scatterings", 64, 128)):
            assert guest.patch("/api/scene", json=change(name, least)).status_code == 200
            assert guest.patch("/api/scene", json=change(name, most)).status_code == 403
            assert owner.patch("/api/scene", json=change(name, most)).status_code == 200
