"""The page in a real browser: filters, search, keys, paper, hostile text, size and speed."""

from __future__ import annotations

import base64
import itertools
import json
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from neuronport.records import Records
from neuronport.reporting import html
from neuronport.reporting.joined.model import build
from neuronport.reporting.summary import summarize

from . import making
from .browser import chrome, complaints, run, visit

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

MANY = 50_000
SECONDS = 3.0
BYTES = 10_000_000


@pytest.fixture(scope="module")
def driver() -> Iterator[Chrome]:
    with chrome() as opened:
        yield opened


Pages = Callable[[str], Path]
MAKERS: dict[str, Callable[[Path], Records]] = {
    "whole": making.whole,
    "evil": making.evil,
    "many": lambda at: making.folder(at, {"audit.json": making.audit_body(making.many(MANY))}),
    "nothing": lambda at: making.folder(at, {}),
}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Pages:
    made: dict[str, Path] = {}

    def page(name: str) -> Path:
        if name not in made:
            folder = tmp_path_factory.mktemp(name)
            made[name] = folder / "report.html"
            report = build(MAKERS[name](folder / "records"))
            made[name].write_text("".join(html.render(report)), encoding="utf-8")
        return made[name]

    return page


def rows(driver: Chrome) -> list[tuple[str, str]]:
    """Verdict and place of each finding in the list."""
    found = run(
        driver,
        "return [...document.querySelectorAll('#list .row')].map(r =>"
        " [r.querySelector('.verdict').textContent, r.querySelector('.where').textContent])",
    )
    return [(v, w) for v, w in found]


def status(driver: Chrome) -> str:
    return str(run(driver, "return document.getElementById('status').textContent"))


def choose(driver: Chrome, name: str, value: str) -> None:
    run(
        driver,
        "const s = document.getElementById('filter-' + arguments[0]); s.value = arguments[1];"
        "if (s.value !== arguments[1]) throw Error('no such option');"
        "s.dispatchEvent(new Event('change', {bubbles: true}))",
        name,
        value,
    )


def search(driver: Chrome, text: str) -> None:
    from selenium.webdriver.support.ui import WebDriverWait

    before = status(driver)
    run(
        driver,
        "const q = document.getElementById('q'); q.value = arguments[0];"
        "document.getElementById('status').textContent = 'searching';"
        "q.dispatchEvent(new Event('input', {bubbles: true}))",
        text,
    )
    WebDriverWait(driver, 10).until(lambda d: status(d) != "searching")
    assert before


def press(driver: Chrome, *keys: str) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    for key in keys:
        ActionChains(driver).send_keys(key).perform()


def focused(driver: Chrome) -> str:
    return str(
        run(
            driver,
            "const a = document.activeElement; const w = a.querySelector('.where');"
            "return w ? w.textContent : a.id || a.tagName",
        )
    )


# ---- what is shown ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(MAKERS))
def test_no_page_complains(driver: Chrome, pages: Pages, name: str) -> None:
    visit(driver, pages(name))
    for opened in range(min(len(rows(driver)), 12)):
        run(driver, "document.querySelectorAll('#list .row')[arguments[0]].click()", opened)
    assert complaints(driver) == []
    assert run(driver, "return performance.getEntriesByType('resource').length") == 0


def test_what_counts_is_listed_worst_first(driver: Chrome, pages: Pages) -> None:
    visit(driver, pages("whole"))
    found = rows(driver)
    assert len(found) == 11
    assert status(driver) == "11 of 13 findings"
    audit = making.sample()
    ranked = [f for f in summarize(audit).ranked if f.context.role in audit.fail_roles]
    assert [w for _, w in found] == [f"{f.location.path}:{f.location.line}" for f in ranked]
    assert not any("test_train" in where for _, where in found)


def test_filters(driver: Chrome, pages: Pages) -> None:
    visit(driver, pages("whole"))
    choose(driver, "verdict", "syncs")
    assert rows(driver) == [("syncs", "src/train.py:6")]
    choose(driver, "verdict", "")
    choose(driver, "confidence", "possible")
    assert [w for _, w in rows(driver)] == ["src/train.py:5"]
    run(driver, "document.getElementById('clear').click()")
    choose(driver, "role", "test")
    assert [w for _, w in rows(driver)] == ["tests/test_train.py:2"]
    choose(driver, "role", "")
    assert len(rows(driver)) == 13
    choose(driver, "change", "safe")
    assert len(rows(driver)) == 1
    choose(driver, "change", "review")
    assert len(rows(driver)) == 1
    choose(driver, "change", "")
    choose(driver, "role", "counted")
    # on one target a place can be other than on the worst of all
    choose(driver, "target", "0")
    assert ("locks-in", "src/größe/modell.py:2") in rows(driver)
    choose(driver, "target", "1")
    assert ("breaks", "src/größe/modell.py:2") in rows(driver)
    choose(driver, "target", "0")
    choose(driver, "level", "note")
    assert [w for _, w in rows(driver)] == ["src/größe/modell.py:2"]
    choose(driver, "verdict", "syncs")
    assert rows(driver) == []
    assert status(driver).startswith("No finding matches")


def test_search(driver: Chrome, pages: Pages) -> None:
    visit(driver, pages("whole"))
    search(driver, "KERNEL.cu")
    assert [w for _, w in rows(driver)] == ["src/kernel.cu:1"]
    search(driver, "模型 moves")
    assert [w for _, w in rows(driver)] == ["src/größe/modell.py:2"]
    search(driver, "init_process there is nothing like it")
    assert rows(driver) == []
    search(driver, "")
    assert len(rows(driver)) == 11


def test_a_table_leads_to_its_findings(driver: Chrome, pages: Pages) -> None:
    from selenium.webdriver.support.ui import WebDriverWait

    visit(driver, pages("whole"))
    run(
        driver,
        "[...document.querySelectorAll('#causes tr')].find(r => r.textContent.includes("
        "'init_process_group') || r.textContent.includes('nccl-only'))"
        ".querySelector('[data-group]').click()",
    )
    WebDriverWait(driver, 5).until(lambda d: len(rows(d)) == 5)
    run(driver, "document.querySelector('#plan [data-wave]').click()")
    WebDriverWait(driver, 5).until(lambda d: len(rows(d)) != 5)
    wave = run(driver, "return document.querySelector('#plan [data-wave]').dataset.wave")
    assert run(driver, "return document.getElementById('filter-wave').value") == wave


def test_a_finding_shows_how_it_is_known(driver: Chrome, pages: Pages) -> None:
    visit(driver, pages("whole"))
    search(driver, "batch.cuda() moves")
    run(driver, "document.querySelector('#list .row').click()")
    text = run(driver, "return document.querySelector('#list .detail').innerText")
    for words in (
        "api/torch.Tensor.cuda",
        "runs in every step",
        "How the value came here",
        "batch comes from the loader",
        "src/train.py:4",
        "native@2.33",
        "xla@2.31:inf2",
        "documented",
        "placement moves from cuda to neuron",
        "frameworks/torch/pytorch-native-overview.rst",
        "effort: minutes",
    ):
        assert words in text, words
    run(driver, "document.getElementById('clear').click()")
    choose(driver, "change", "safe")
    run(driver, "document.querySelector('#list .row').click()")
    shown = run(driver, "return document.querySelector('#list .detail pre').innerText")
    assert '-model.to("cuda:0")' in shown
    assert "+model.to(get_device())" in shown


# ---- keys and readers ------------------------------------------------------------------------------


def test_keys(driver: Chrome, pages: Pages) -> None:
    from selenium.webdriver.common.keys import Keys

    visit(driver, pages("whole"))
    where = [w for _, w in rows(driver)]
    press(driver, "j")
    assert focused(driver) == where[0]
    press(driver, "j", "j", "k")
    assert focused(driver) == where[1]
    press(driver, Keys.ENTER)
    assert run(driver, "return document.activeElement.getAttribute('aria-expanded')") == "true"
    press(driver, "/")
    assert focused(driver) == "q"
    press(driver, "j", "k", "/")
    assert run(driver, "return document.getElementById('q').value") == "jk/"
    press(driver, Keys.BACKSPACE, Keys.BACKSPACE, Keys.BACKSPACE, Keys.ESCAPE)
    assert focused(driver) == where[0]


def test_pages_turn_by_key(driver: Chrome, pages: Pages) -> None:
    visit(driver, pages("many"))
    first = [w for _, w in rows(driver)]
    assert len(first) == 50
    press(driver, "n")
    assert "51 to 100 shown" in status(driver)
    assert focused(driver) == rows(driver)[0][1]
    press(driver, "k")
    assert focused(driver) == first[-1]
    press(driver, "j")
    assert "51 to 100 shown" in status(driver)


def test_the_first_tab_skips(driver: Chrome, pages: Pages) -> None:
    from selenium.webdriver.common.keys import Keys

    visit(driver, pages("whole"))
    press(driver, Keys.TAB)
    assert run(driver, "return document.activeElement.textContent") == "Skip to the verdict"
    press(driver, Keys.TAB, Keys.ENTER)
    assert run(driver, "return document.activeElement.id") == "findings"


def _nodes(driver: Chrome) -> list[dict[str, Any]]:
    tree: list[dict[str, Any]] = driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    return [n for n in tree if not n.get("ignored")]


def test_a_screen_reader_finds_its_way(driver: Chrome, pages: Pages) -> None:
    visit(driver, pages("whole"))
    run(driver, "document.querySelectorAll('details').forEach(d => { d.open = true; })")
    run(driver, "document.querySelector('#list .row').click()")
    nodes = _nodes(driver)
    by_role: dict[str, list[str]] = {}
    for node in nodes:
        name = str(node.get("name", {}).get("value", ""))
        by_role.setdefault(str(node["role"]["value"]), []).append(name)
    for landmark in ("banner", "main", "navigation", "contentinfo", "search", "status"):
        assert landmark in by_role, landmark
    for role in ("button", "combobox", "searchbox", "link", "image", "region", "table", "heading"):
        assert by_role[role], role
        assert all(by_role[role]), (role, by_role[role])
    levels = run(
        driver,
        "return [...document.querySelectorAll('h1,h2,h3,h4')].map(h => Number(h.tagName[1]))",
    )
    assert levels[0] == 1
    assert all(b - a <= 1 for a, b in itertools.pairwise(levels))
    assert run(driver, "return document.documentElement.lang") == "en"
    ids = run(driver, "return [...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast(driver: Chrome, pages: Pages, scheme: str) -> None:
    """4.5 to 1 for every text on its background, in both colour schemes."""
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    try:
        visit(driver, pages("whole"))
        run(driver, "document.querySelectorAll('details').forEach(d => { d.open = true; })")
        run(driver, "document.querySelector('#list .row').click()")
        faint = run(driver, CONTRAST)
        assert run(driver, "return getComputedStyle(document.body).backgroundColor") == (
            "rgb(255, 255, 255)" if scheme == "light" else "rgb(20, 23, 26)"
        )
    finally:
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert faint == []


CONTRAST = """
const parse = (c) => (c.match(/[\\d.]+/g) || []).map(Number);
const lum = (c) => { const [r, g, b] = c.map(v => { v /= 255;
  return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
const back = (e) => { for (; e; e = e.parentElement) {
  const c = parse(getComputedStyle(e).backgroundColor);
  if (c.length === 3 || c[3] > 0) return c.slice(0, 3); } return [255, 255, 255]; };
const found = new Set();
for (const e of document.querySelectorAll('body *')) {
  if (e.closest('svg, script, .hidden, .skip, option, button:disabled')) continue;
  if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue;
  const fore = parse(getComputedStyle(e).color).slice(0, 3);
  const a = lum(fore), b = lum(back(e));
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (ratio < 4.5) found.add(e.tagName + '.' + e.className + ' ' + ratio.toFixed(2));
}
return [...found];
"""


# ---- hostile text ----------------------------------------------------------------------------------


def test_hostile_text_stays_text(driver: Chrome, pages: Pages) -> None:
    source = pages("evil").read_text(encoding="utf-8")
    for raw in ("\x1b", "\u202e", "\u200b", "\x00", "\u2028", "<b onclick"):
        assert raw not in source, raw
    assert source.count("</script>") == 2
    visit(driver, pages("evil"))
    choose(driver, "role", "")
    run(driver, "document.querySelectorAll('details').forEach(d => { d.open = true; })")
    for n in range(len(rows(driver))):
        run(driver, "document.querySelectorAll('#list .row')[arguments[0]].click()", n)
    assert (
        run(driver, "return document.querySelectorAll('b, iframe, img, object, embed').length") == 0
    )
    assert run(driver, "return document.querySelectorAll('script').length") == 2
    links = run(
        driver, "return [...document.querySelectorAll('a')].map(a => a.getAttribute('href'))"
    )
    assert all(link.startswith("#") for link in links)
    handlers = run(
        driver,
        "return [...document.querySelectorAll('*')].flatMap(e => [...e.attributes])"
        ".filter(a => a.name.startsWith('on') || a.name === 'style').map(a => a.name)",
    )
    assert handlers == []
    text = run(driver, "return document.body.innerText")
    assert "</script><b onclick='x'>" in text
    assert "\\x1b[31m" in text
    assert "\\u202e" in text
    assert complaints(driver) == []


def test_the_policy_holds_when_script_gets_in(driver: Chrome, pages: Pages, tmp_path: Path) -> None:
    """The page with markup put into it by force: what the policy is for."""
    text = pages("whole").read_text(encoding="utf-8")
    bad = tmp_path / "bad.html"
    bad.write_text(
        text.replace(
            "<main>",
            "<main><script>document.title = 'owned'</script>"
            "<img src=x onerror=\"document.title = 'owned'\"><style>main {color: red}</style>",
        ),
        encoding="utf-8",
    )
    visit(driver, bad)
    assert driver.title == "project: neuronport report"
    assert len(complaints(driver)) >= 3
    with pytest.raises(Exception, match="TrustedHTML"):
        run(driver, "document.body.innerHTML = '<p>x</p>'")


# ---- size, speed, paper ----------------------------------------------------------------------------


def test_fifty_thousand_findings_open_in_time(driver: Chrome, pages: Pages) -> None:
    page = pages("many")
    assert page.stat().st_size < BYTES
    visit(driver, page)
    assert status(driver).startswith("50,000 of 50,000 findings")
    timing = run(
        driver,
        "const n = performance.getEntriesByType('navigation')[0]; return n.loadEventEnd / 1000",
    )
    assert timing < SECONDS
    assert len(rows(driver)) == 50
    took = run(
        driver,
        "const t = performance.now(); const s = document.getElementById('filter-verdict');"
        "s.value = 'breaks'; s.dispatchEvent(new Event('change')); return performance.now() - t",
    )
    assert took < 500
    assert status(driver).startswith("7,143 of 50,000")
    search(driver, "value_49999")
    assert len(rows(driver)) == 0  # it does not have that verdict
    run(driver, "document.getElementById('clear').click()")
    search(driver, "value_49999")
    assert len(rows(driver)) == 1


def _pdf_text(data: bytes) -> int:
    """Pages of a PDF."""
    streams = [data]
    for match in re.finditer(rb"stream\r?\n(.*?)endstream", data, re.S):
        try:
            streams.append(zlib.decompress(match[1]))
        except zlib.error:
            continue
    return sum(len(re.findall(rb"/Type\s*/Page\b", s)) for s in streams)


def test_paper(driver: Chrome, pages: Pages) -> None:
    visit(driver, pages("whole"))
    made = driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": False})
    data = base64.b64decode(made["data"])
    assert data.startswith(b"%PDF")
    assert 2 <= _pdf_text(data) < 30
    # after printing the list is as it was
    assert len(rows(driver)) == 11
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        gone = run(
            driver,
            "return ['nav', '#filters', '.keys', '#pager'].filter(s =>"
            " getComputedStyle(document.querySelector(s)).display !== 'none')",
        )
        assert gone == []
        assert run(driver, "return getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    finally:
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_paper_has_more_than_one_page_of_the_list(driver: Chrome, pages: Pages) -> None:
    visit(driver, pages("many"))
    run(driver, "window.dispatchEvent(new Event('beforeprint'))")
    assert len(rows(driver)) == 500
    assert "filter to print others" in status(driver)
    run(driver, "window.dispatchEvent(new Event('afterprint'))")
    assert len(rows(driver)) == 50


def test_a_link_to_a_finding_opens_it(driver: Chrome, pages: Pages) -> None:
    visit(driver, pages("whole"))
    data = json.loads(run(driver, "return document.getElementById('data').textContent"))
    number = 4
    fingerprint = data["columns"]["print"][number]
    driver.get("about:blank")
    driver.get(f"{pages('whole').as_uri()}#f={fingerprint}")
    place = run(
        driver, "return document.querySelector('#list [aria-expanded=true]').parentElement.id"
    )
    assert place == f"f-{number}"


def test_without_script_the_rest_is_readable(pages: Pages) -> None:
    from .reading import read

    page = read(pages("whole").read_text(encoding="utf-8"))
    assert "needs JavaScript, which is switched off" in page.sections["findings"]
    for name in ("verdict", "causes", "plan", "models", "port", "compile", "method"):
        assert len(page.sections[name]) > 200, name
