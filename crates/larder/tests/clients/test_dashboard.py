"""The dashboard in a real browser: every page, its figures beside LARDER REPORT JSON, no error.

Called with the ports of RESP and of HTTP and the path of a browser. The server has many tenants."""

import json
import sys
import time

import redis
from playwright.sync_api import TimeoutError, sync_playwright

# A busy machine may take this long for a page; a page that never comes fails.
PATIENCE_MS = 180_000
# Drags that are tried.
TRIES = 9
PAGES = ["/", "/tenant", "/plans", "/sizing", "/advice", "/server"]


def load(client, tenants):
    """Some reads that miss and fill, of each tenant."""
    for at in range(tenants):
        pipe = client.pipeline(transaction=False)
        for key in range(20):
            pipe.get(f"t{at}:{key}")
            pipe.set(f"t{at}:{key}", "x" * 100)
            pipe.get(f"t{at}:{key}")
        pipe.execute()


def is_error(message):
    """Whether a line of the browser's console is an error. The server closes a stream on which a
    busy machine sent nothing for ten seconds, and the page opens another."""
    return message.type == "error" and "ERR_INCOMPLETE_CHUNKED_ENCODING" not in message.text


def rows(page):
    """The table of tenants: memory as it is shown, by name."""
    return page.evaluate(
        """() => Object.fromEntries([...document.querySelectorAll('tbody tr')].map(
               row => [row.cells[0].textContent, row.cells[1].textContent]))"""
    )


def box_of_chart(page):
    """The place of the first chart in the window. The page replaces its charts each second, so one
    step finds and measures it."""
    return page.evaluate(
        """() => {
            const svg = document.querySelector('figure[data-from] svg');
            svg.scrollIntoView({ block: 'center' });
            const box = svg.getBoundingClientRect().toJSON();
            // The middle of the last line: a moment of which something is known.
            const points = [...svg.querySelectorAll('[data-v]')].at(-1).points;
            const point = points.getItem(Math.floor(points.numberOfItems / 2));
            box.known = box.x + point.x * box.width / svg.viewBox.baseVal.width;
            return box;
        }"""
    )


def pointer(page):
    """Every chart over time shows what its lines have at the moment under the pointer. Nobody may
    have read at that moment, so there may be no misses."""
    box = box_of_chart(page)
    page.mouse.move(box["known"], box["y"] + box["height"] / 2)
    page.wait_for_function(
        """() => [...document.querySelectorAll('figure[data-from]')].every(
               figure => figure.querySelector('text.cursor')
                   && (figure.querySelector('svg').getAttribute('aria-label') === 'Misses'
                       || [...figure.querySelectorAll('figcaption b')].some(
                           value => value.textContent)))"""
    )
    times = page.evaluate(
        "[...document.querySelectorAll('text.cursor')].map(label => label.textContent)"
    )
    assert len(times) > 2 and len(set(times)) == 1, times


def zoom(page, browser):
    """A drag zooms all charts, and the address alone shows the same stretch to somebody else."""
    stretches = """() => [...new Set([...document.querySelectorAll('figure[data-from]')].map(
                       figure => 'from=' + figure.dataset.from + '&to=' + figure.dataset.to))]"""
    # Only the right end has a history: the server is young. The page may replace its charts in the
    # middle of a drag; a reader then drags again.
    is_zoomed = f"() => ({stretches})().length === 1 && location.search.includes(({stretches})()[0])"
    for _ in range(TRIES):
        box = box_of_chart(page)
        page.mouse.move(box["x"] + 0.7 * box["width"], box["y"] + 100)
        page.mouse.down()
        page.mouse.move(box["x"] + 0.96 * box["width"], box["y"] + 100, steps=4)
        page.mouse.up()
        try:
            page.wait_for_function(is_zoomed, timeout=PATIENCE_MS / TRIES)
            break
        except TimeoutError:
            continue
    else:
        raise AssertionError((page.url, page.evaluate(stretches)))
    other = browser.new_page()
    other.set_default_timeout(PATIENCE_MS)
    other.goto(page.url)
    seen, own = other.evaluate(stretches), page.evaluate(stretches)
    assert seen == own, (seen, own, page.url)
    # Hidden lines are in the address, too.
    other.wait_for_selector("figcaption button.off")
    other.close()


def pictures(page):
    """Each picture can be saved, as SVG and as PNG."""
    page.hover("figure[data-from] >> nth=0 >> svg")
    for kind, begin in (("SVG", b"<svg"), ("PNG", b"\x89PNG")):
        with page.expect_download() as saving:
            page.click(f"figure[data-from] >> nth=0 >> button[data-save={kind}]")
        with open(saving.value.path(), "rb") as file:
            assert file.read().startswith(begin), kind


def main():
    resp, http, browser_path = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    client = redis.Redis(port=resp, decode_responses=True)
    tenants = 200
    base = f"http://127.0.0.1:{http}"
    load(client, tenants)
    time.sleep(2.5)
    load(client, tenants)
    time.sleep(2.5)
    errors = []
    with sync_playwright() as play:
        # Drawing in software, as if by a graphics card, takes eight times the processor time.
        flags = ["--no-sandbox", "--disable-gpu"]
        browser = play.chromium.launch(executable_path=browser_path, args=flags)
        for width in (1400, 800, 400):
            context = browser.new_context(viewport={"width": width, "height": 900})
            context.set_default_timeout(PATIENCE_MS)
            page = context.new_page()
            page.on("console", lambda m: errors.append(m.text) if is_error(m) else None)
            page.on("pageerror", lambda error: errors.append(str(error)))
            asked = []
            page.on("request", lambda request: asked.append(request.url))
            for path in PAGES:
                page.goto(base + path)
                # Events bring it anew: the time below moves on.
                before = page.text_content("#state")
                page.wait_for_function(
                    "before => document.getElementById('state').textContent !== before", arg=before
                )
                assert page.query_selector("nav a[aria-current='page']"), path
                wide = page.evaluate("document.documentElement.scrollWidth")
                assert wide <= width + 1, f"{path} is {wide} wide in {width}"
                # Nothing is cut: a table that is too wide would scroll on its own.
                cut = page.evaluate(
                    """() => [...document.querySelectorAll('.wide')].filter(
                           box => box.scrollWidth > box.clientWidth + 1).length"""
                )
                assert cut == 0, f"{cut} tables of {path} are cut in {width}"
            hosts = {url.split("/")[2] for url in asked if url.startswith("http")}
            assert hosts == {f"127.0.0.1:{http}"}, hosts
            context.close()
        page = browser.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.goto(base + "/")
        shown = rows(page)
        report = json.loads(client.execute_command("LARDER", "REPORT", "JSON"))
        names = [tenant["name"] for tenant in report["tenants"]]
        assert len(names) > tenants and list(shown) == names, (len(names), len(shown))
        # Nobody writes now: what is shown is what the report says.
        units = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20}
        for tenant in report["tenants"]:
            number, unit = shown[tenant["name"]].split()
            close = abs(float(number) * units[unit] - tenant["used"])
            assert close <= max(8, 0.01 * tenant["used"]), (tenant["name"], shown[tenant["name"]])
        lines = page.evaluate("document.querySelectorAll('polyline, polygon').length")
        assert 0 < lines < 60, f"{lines} lines"
        # A click in the legend hides a line, and it stays hidden when the page is brought anew.
        page.click("figcaption button >> nth=0")
        before = page.text_content("#state")
        page.wait_for_function(
            "before => document.getElementById('state').textContent !== before", arg=before
        )
        assert page.query_selector("figcaption button.off")
        assert page.query_selector("svg .off")
        assert "hide=" in page.url, page.url
        pointer(page)
        zoom(page, browser)
        pictures(page)
        page.goto(base + "/?kiosk")
        assert not page.is_visible("header") and page.is_visible("figure svg")
        # By keyboard: the slider of the sizes moves what is said.
        page.goto(base + "/sizing")
        title = page.text_content("h1")
        page.focus("input[type=range]")
        for _ in range(8):
            page.keyboard.press("ArrowRight")
        page.wait_for_function("title => document.querySelector('h1').textContent !== title", arg=title)
        browser.close()
    assert not errors, errors


main()
