"""Cinematic shading on the page: it is chosen, gets better by itself, and follows its controls."""

from playwright.sync_api import Page, expect

from tests.web.browsing import peak_signal, pixels, wait_for_scene


def test_an_image_of_paths_gets_better_until_it_has_all_of_them(page: Page) -> None:
    page.get_by_role("combobox", name="Shading").select_option("cinematic")
    count = page.get_by_label("Paths per pixel, number")
    count.fill("2")
    count.press("Enter")
    wait_for_scene(page, "scene.volumes[0].shading === 'cinematic' && scene.cinematic.samples === 2")
    first = pixels(page)
    assert first.max() > 60
    page.get_by_role("slider", name="Exposure").focus()
    for _ in range(3):
        page.keyboard.press("PageUp")
    wait_for_scene(page, "scene.cinematic.exposure > 1.2")
    brighter = pixels(page)
    assert brighter.mean() > 1.1 * first.mean()
    page.get_by_role("combobox", name="Environment").select_option("sky")
    wait_for_scene(page, "scene.cinematic.environment === 'sky'")
    assert peak_signal(pixels(page), brighter) < 45
    expect(page.get_by_label("Remove noise")).to_be_checked()
    page.get_by_role("combobox", name="Shading").select_option("gradient")
    wait_for_scene(page, "scene.volumes[0].shading === 'gradient'")
