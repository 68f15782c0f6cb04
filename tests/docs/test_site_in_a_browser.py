"""A browser shows the site: nothing goes wrong, the search finds a page, a telephone is wide enough."""

from __future__ import annotations

import pytest
from browser_tools import TELEPHONE, needs_browser, opened, told
from page_server import served

pytestmark = needs_browser

LOOK = """
const mistakes = [];
for (const kind of ["error", "unhandledrejection"]) {
  addEventListener(kind, (event) => mistakes.push(`${kind}: ${event.message ?? event.reason}`));
}
const after = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
async function search(words) {
  document.querySelector(".md-search__button").click();
  const rooms = () => [...document.querySelectorAll("*")].map((one) => one.shadowRoot);
  const links = () => [...rooms().find((room) => room?.querySelector("input")).querySelectorAll("li a")];
  for (let tries = 0; tries < 40; tries++) {
    await fetch("/wait");
    const input = rooms().map((room) => room?.querySelector("input")).find((one) => one);
    if (input && input.value != words) {
      input.value = words;
      input.dispatchEvent(new InputEvent("input", { bubbles: true, composed: true }));
    } else if (input && links().length) break;
  }
  return links().map((link) => link.getAttribute("href"));
}
addEventListener("load", async () => {
  await after(1000);
  const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  const found = WORDS ? await search(WORDS) : [];
  const fetched = performance.getEntriesByType("resource").map((entry) => new URL(entry.name).host);
  const pre = document.body.appendChild(document.createElement("pre"));
  pre.id = "told";
  pre.textContent = JSON.stringify({ mistakes, wide, width: innerWidth, found, hosts: [...new Set(fetched)] });
});
"""
PAGES = ("index.html", "reference/policies.html", "methods/index.html", "results/auto.html", "design.html")


@pytest.mark.parametrize("page", PAGES)
def test_nothing_goes_wrong_and_nothing_is_fetched_from_elsewhere(site, tmp_path, page):
    with served(site[0], LOOK.replace("WORDS", "null")) as address:
        document, complaints = opened(f"{address}/{page}", tmp_path / "profile", "--window-size=1280,900")
    assert complaints == []
    seen = told(document)
    assert seen["mistakes"] == []
    assert seen["wide"] <= 0
    assert all(host.startswith("127.0.0.1:") for host in seen["hosts"])


def test_the_search_finds_a_name_of_the_reference(site, tmp_path):
    with served(site[0], LOOK.replace("WORDS", '"PassBoundaries"')) as address:
        document, complaints = opened(f"{address}/index.html", tmp_path / "profile", "--window-size=1280,900")
    assert complaints == []
    assert "/reference/curves.html" in told(document)["found"][0]
    assert told(document)["found"][0].endswith("#rota.curves.PassBoundaries")


@pytest.mark.parametrize("page", PAGES)
def test_a_telephone_is_wide_enough(site, tmp_path, page):
    around = site[0] / "telephone.html"
    around.write_text(TELEPHONE.format(page), encoding="utf-8")
    script = f"if (!document.querySelector('iframe')) {{ {LOOK.replace('WORDS', 'null')} }}"
    try:
        with served(site[0], script) as address:
            document, complaints = opened(f"{address}/telephone.html", tmp_path / "profile")
    finally:
        around.unlink()
    seen = told(document)
    assert complaints == seen["mistakes"] == []
    assert seen["width"] == 390
    assert seen["wide"] <= 0  # what is wide scrolls by itself, not with the page


def test_a_page_can_be_read_from_the_disk(site, tmp_path):
    document, _ = opened((site[0] / "reference" / "policies.html").as_uri(), tmp_path / "profile")
    assert 'id="rota.policies.Exp3S"' in document
    assert 'href="../assets/stylesheets/' in document
