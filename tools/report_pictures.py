"""Take the pictures of the report in docs/images: the sample trainer before its port and after.

    python tools/report_pictures.py [NEURONPORT]

Needs what samples/tour.sh needs (the extra ``graph``, NumPy), Chromium and Pillow. Takes a minute or two.
Renew them when what the page says or how it looks has changed, and look at both.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
SIZE = (1200, 850)
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def main(neuronport: str) -> None:
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if browser is None:
        raise SystemExit("there is no Chromium")
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        _copy_samples(work / "samples")

        def run(*words: str) -> None:
            # audit ends with 1 where it finds something, compile with 4 without Neuron's compiler
            subprocess.run(words, cwd=work, check=False, capture_output=True)

        run("sh", "samples/tour.sh", neuronport)
        sample, ported = "samples/gpt_trainer", "ported"
        run(neuronport, "port", sample, "--review", "--out", ported)
        run(neuronport, "audit", ported, "--record")
        run(neuronport, "port", ported, "--record")
        run(neuronport, "portability", ported, "--record")
        run(neuronport, "report", ported, "--against", f"{sample}/.neuronport")
        for name, project in (("before", sample), ("after", ported)):
            page = work / project / ".neuronport" / "report.html"
            _picture(browser, page, IMAGES / f"report-{name}.png", work)


def _copy_samples(to: Path) -> None:
    ignored = shutil.ignore_patterns(".neuronport", "__pycache__", "out")
    shutil.copytree(ROOT / "samples", to, ignore=ignored)


def _picture(browser: str, page: Path, to: Path, work: Path) -> None:
    taken = work / "picture.png"
    subprocess.run(
        [
            browser,
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            f"--user-data-dir={work / 'profile'}",
            f"--window-size={SIZE[0]},{SIZE[1]}",
            f"--screenshot={taken}",
            page.as_uri(),
        ],
        check=True,
        capture_output=True,
        timeout=120,
    )
    with Image.open(taken) as picture:
        shown = picture.convert("RGB").crop((0, 0, *SIZE))
        shown.quantize(256, dither=Image.Dither.NONE).save(to, optimize=True)
    print(to.relative_to(ROOT))


if __name__ == "__main__":
    main(*(sys.argv[1:] or ["neuronport"]))
