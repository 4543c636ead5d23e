"""Pictures of every page of the dashboard, for the book.

Called with the ports of RESP and of HTTP, the path of a browser, and the folder for the pictures.
Three tenants with misses of different costs play for a while first, and one setting changes."""

import random
import sys
import threading
import time

import redis
from playwright.sync_api import sync_playwright

SECONDS = 150
PAGES = {
    "now": "/?span=0",
    "tenant": "/tenant?tenant=web&span=0",
    "plans": "/plans?span=0",
    "sizing": "/sizing?memory=41943040",
    "advice": "/advice",
    "server": "/server?span=0",
}
# Name, keys, largest value, seconds that a miss takes, time to live.
TENANTS = [("web", 6_000, 9_000, 0.004, None), ("jobs", 9_000, 8_000, 0.001, None), ("search", 2_000, 12_000, 0.02, 20)]


def play(port, tenant, end):
    """Reads keys of one tenant, the popular ones more often, and fills each miss after its time."""
    name, keys, largest, seconds, life = tenant
    chance = random.Random(name)
    client = redis.Redis(port=port)
    while time.time() < end:
        key = f"{name}:{int(keys * chance.random() ** 3)}"
        if client.get(key) is None:
            time.sleep(seconds)
            client.set(key, b"x" * random.Random(key).randint(500, largest), ex=life)
        time.sleep(0.004)


def main():
    port, http, browser_path, folder = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
    end = time.time() + SECONDS
    players = [threading.Thread(target=play, args=(port, tenant, end)) for tenant in TENANTS]
    for player in players:
        player.start()
    time.sleep(SECONDS / 3)
    redis.Redis(port=port).config_set("tenant", "jobs match prefix jobs: min 4mb")
    for player in players:
        player.join()
    with sync_playwright() as play_browser:
        flags = ["--no-sandbox", "--disable-gpu"]
        browser = play_browser.chromium.launch(executable_path=browser_path, args=flags)
        page = browser.new_page(viewport={"width": 1000, "height": 720}, color_scheme="light")
        page.set_default_timeout(180_000)
        for name, path in PAGES.items():
            page.goto(f"http://127.0.0.1:{http}{path}")
            before = page.text_content("#state")
            page.wait_for_function(
                "before => document.getElementById('state').textContent !== before", arg=before
            )
            page.screenshot(path=f"{folder}/{name}.png")
        browser.close()


main()
