"""Looks at every page of a dashboard at three widths, light and dark: no page may be wider than its
window, and no text of a chart may lie on another text of the same chart.

Called with the port of HTTP, the path of a browser, and the name of the scene. The variable
LARDER_PICTURES names a folder for the pictures, PICTURE a file for one of the page Now."""

import os
import sys

from playwright.sync_api import sync_playwright

PAGES = {
    "now": "/?span=0",
    "tenant": "/tenant?span=0",
    "plans": "/plans?span=0",
    "sizing": "/sizing",
    "advice": "/advice",
    "server": "/server?span=0",
}
# The bytes of a page with its style and script.
BYTES_MAX = 150_000
WIDTHS = [1400, 800, 400]
SCHEMES = ["light", "dark"]

# Pairs of texts of one chart whose boxes overlap by more than two pixels each way.
COLLISIONS = """() => [...document.querySelectorAll('figure svg')].flatMap(svg => {
  const texts = [...svg.querySelectorAll('text')].filter(one => one.textContent.trim())
    .map(one => [one.textContent, one.getBoundingClientRect()]).filter(([, box]) => box.width > 0);
  const over = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2
    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 2;
  const title = svg.closest('figure').textContent.trim().slice(0, 30);
  return texts.flatMap(([one, a], at) => texts.slice(at + 1)
    .filter(([, b]) => over(a, b)).map(([other]) => `${title}: "${one}" on "${other}"`));
})"""


def main():
    port, browser_path, scene = sys.argv[1:4]
    folder = os.environ.get("LARDER_PICTURES")
    faults = []
    with sync_playwright() as play:
        flags = ["--no-sandbox", "--disable-gpu"]
        browser = play.chromium.launch(executable_path=browser_path, args=flags)
        for scheme in SCHEMES:
            page = browser.new_page(color_scheme=scheme)
            page.set_default_timeout(180_000)
            for width in WIDTHS:
                page.set_viewport_size({"width": width, "height": 900})
                for name, path in PAGES.items():
                    page.goto(f"http://127.0.0.1:{port}{path}")
                    where = f"{scene} {name} at {width} px"
                    wide = page.evaluate("document.documentElement.scrollWidth")
                    if wide > width:
                        faults.append(f"{where}: {wide} px wide")
                    if scheme == SCHEMES[0]:
                        faults += [f"{where}: {fault}" for fault in page.evaluate(COLLISIONS)]
                    if folder:
                        file = f"{folder}/{scene}-{name}-{width}-{scheme}.png"
                        page.screenshot(path=file, full_page=True)
            page.close()
        own = browser.new_page()
        size = lambda path: len(own.request.get(f"http://127.0.0.1:{port}{path}").body())
        both = size("/dashboard.css") + size("/dashboard.js")
        for name, path in PAGES.items():
            if size(path) + both > BYTES_MAX:
                faults.append(f"{scene} {name}: {size(path)} + {both} bytes")
            print(scene, name, size(path) + both)
        if "PICTURE" in os.environ:
            page = browser.new_page(viewport={"width": 800, "height": 640}, color_scheme="light")
            page.goto(f"http://127.0.0.1:{port}{PAGES['now']}")
            page.screenshot(path=os.environ["PICTURE"])
        browser.close()
    print("\n".join(faults))
    sys.exit(1 if faults else 0)


main()
