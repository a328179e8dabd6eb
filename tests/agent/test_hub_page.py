"""In a real browser: log in at the Hub, start a viewer from the form (on Slurm, where it is), see the image."""

import os
import re

import numpy as np
from playwright.sync_api import Browser, expect

from pellucid.volume.sample_volume import sample
from tests.agent.hub_site import Person, RunningHub
from tests.agent.test_agent_page import card, choose, press
from tests.waiting import TIMEOUT_MS
from tests.web.browsing import pixels, wait_for_rest


def test_a_person_logs_in_and_sees_an_image(hub: RunningHub, ada: Person, browser: Browser) -> None:
    np.save(ada.home / "ball.npy", sample(24))
    os.chown(ada.home / "ball.npy", ada.home.stat().st_uid, -1)
    context = browser.new_context(ignore_https_errors=True)  # Nobody has signed the certificate.
    page = context.new_page()
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(hub.url)
    page.get_by_label("Username").fill(ada.name)
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_text("Invalid username or password")).to_be_visible(timeout=TIMEOUT_MS)
    page.get_by_label("Username").fill(ada.name)
    page.get_by_label("Password").fill(ada.password)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(re.compile(f"{ada.prefix}/$"), timeout=TIMEOUT_MS)
    choose(page, "ball.npy")
    press(page, "View")
    page.get_by_label("GPUs").fill("0")
    press(page, "Start")
    link = card(page, "ball").get_by_role("button", name="Open", exact=True)
    expect(link).to_be_visible(timeout=TIMEOUT_MS)
    with page.expect_popup() as opened:
        link.click()
    wait_for_rest(opened.value)
    assert opened.value.url.startswith(f"{hub.url}{ada.prefix}/i/")
    assert np.ptp(pixels(opened.value)) > 100  # Something bright on something dark.
    card(page, "ball").get_by_role("button", name="Stop").click()
    expect(card(page, "ball")).to_contain_text("It was stopped", timeout=TIMEOUT_MS)
    assert faults == []
    context.close()
