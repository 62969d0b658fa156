"""A real browser without a window, and what it said."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-default-apps",
    "--no-first-run",
    "--hide-scrollbars",
    "--window-size=1280,900",
)
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def _found() -> tuple[str, str] | None:
    browser = next((b for name in _BROWSERS if (b := shutil.which(name))), None)
    driver = shutil.which("chromedriver")
    return (browser, driver) if browser and driver else None


@contextmanager
def chrome() -> Iterator[Chrome]:
    """Headless Chromium with a profile of its own. Skips where there is none, except in CI."""
    found = _found()
    if found is None:
        if os.environ.get("CI"):
            pytest.fail("CI must have chromium and chromedriver: .ci/run installs them")
        pytest.skip("chromium and chromedriver are not installed (apt-get install chromium-driver)")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = found[0]
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    with tempfile.TemporaryDirectory(prefix="neuronport-chrome-", ignore_cleanup_errors=True) as at:
        options.add_argument(f"--user-data-dir={at}")
        driver = webdriver.Chrome(options=options, service=Service(found[1]))
        try:
            driver.set_page_load_timeout(60)
            yield driver
        finally:
            driver.quit()


def visit(driver: Chrome, page: Path) -> None:
    driver.get("about:blank")
    driver.get_log("browser")  # what was said before is not this page's
    driver.get(page.as_uri())


def complaints(driver: Chrome) -> list[str]:
    """Everything on the console: refusals of the policy, errors, warnings."""
    return [str(row["message"]) for row in driver.get_log("browser")]


def run(driver: Chrome, script: str, *arguments: Any) -> Any:
    return driver.execute_script(script, *arguments)
