# tests/e2e/watch_page.py -- examples/watch.html in a headless Chromium, by
# Debian's python3-selenium and chromium-driver.
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from faults import FaultTest, wait_until
from harness import ROOT, Process, free_port, read_article

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.by import By
except ImportError:
    # Debian's modules belong to Debian's Python.
    if sys.executable == "/usr/bin/python3":
        raise
    os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])

FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic",
         "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync",
         "--window-size=900,1100")

HOSTILE = ("<img src=x onerror=\"document.title='owned'\"> "
           "<script>document.title='owned'</script> "
           "<svg/onload=document.title='owned'>. "
           "A second sentence with \"quotes\" & <b>tags</b>.")


class WatchPage(FaultTest):

    store = "sqlite"

    @classmethod
    def setUpClass(cls):
        web = Process([sys.executable, "-u", "-m", "http.server", "0",
                       "--bind", "127.0.0.1", "--directory",
                       str(ROOT / "examples")], stdin=subprocess.DEVNULL)
        cls.addClassCleanup(web.kill)
        line = web.wait_for_line("Serving HTTP on")
        cls.origin = f"http://127.0.0.1:{line.split()[5]}"
        profile = tempfile.mkdtemp(prefix="reeve-chromium-")
        cls.addClassCleanup(shutil.rmtree, profile, ignore_errors=True)
        options = webdriver.ChromeOptions()
        for flag in (*FLAGS, "--user-data-dir=" + profile):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        cls.browser = webdriver.Chrome(
            service=Service("/usr/bin/chromedriver"), options=options)
        cls.addClassCleanup(cls.browser.quit)

    def start_allowed(self, fake=None, options: dict | None = None):
        return self.start(fake, {
            "http.allowed-origins": f'["{self.origin}"]', **(options or {})})

    def open(self, node):
        self.browser.get_log("browser")
        self.browser.get(f"{self.origin}/watch.html?node={node.url}")

    def part(self, name: str):
        return self.browser.find_element(By.ID, name)

    def text(self, name: str) -> str:
        return self.part(name).text

    def submit(self, text: str):
        # Typing an article key by key takes seconds.
        self.browser.execute_script("arguments[0].value = arguments[1]",
                                    self.part("text"), text)
        self.part("send").click()

    def wait_for_card(self):
        wait_until(lambda: self.part("card").is_displayed(),
                   "the card; the page says: " + self.text("job"), 30)

    def count(self, selector: str) -> int:
        return len(self.browser.find_elements(By.CSS_SELECTOR, selector))

    # -- tests --------------------------------------------------------------

    def test_text_becomes_a_card(self):
        node = self.start_allowed()
        self.open(node)
        self.assertFalse(self.part("job").is_displayed())
        self.assertFalse(self.part("card").is_displayed())
        self.submit(read_article("en"))
        self.wait_for_card()
        job_id = self.text("job-id")
        job = node.job(job_id)
        card = node.get("/api/cards/" + job["result"]["card_id"]).json
        self.assertEqual(self.text("status"), "COMPLETED")
        self.assertEqual(self.text("live"), "finished")
        self.assertEqual(self.part("bar").get_property("value"), 100)
        self.assertEqual(self.text("summary"),
                         " ".join(card["summary"].split()))
        self.assertEqual([x.text for x in self.browser.find_elements(
            By.CSS_SELECTOR, "#tags li")], card["tags"])
        self.assertEqual(self.text("dimension"),
                         f"{card['embedding_dimension']} dimensions")
        self.assertEqual(self.text("model"), card["model"])
        self.assertFalse(self.part("error").is_displayed())
        # Nothing went wrong unseen, and the page asked nobody else.
        self.assertEqual(self.browser.get_log("browser"), [])
        self.check_looks()
        # A second text takes the first one's place.
        self.submit(read_article("ko"))
        wait_until(lambda: self.text("job-id") not in ("", job_id),
                   "the second job")
        self.wait_for_card()
        self.assertNotEqual(self.text("summary"),
                            " ".join(card["summary"].split()))

    def check_looks(self):
        """Fits 400 pixels, follows the colour scheme, names its fields."""
        folder = os.environ.get("REEVE_TEST_SCREENSHOTS") or self.folder()
        self.browser.save_screenshot(os.path.join(folder, "light.png"))
        body = "return getComputedStyle(document.body).backgroundColor"
        light = self.browser.execute_script(body)
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "features": [{"name": "prefers-color-scheme", "value": "dark"}]})
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": 400, "height": 1200, "deviceScaleFactor": 1,
            "mobile": True})
        dark = self.browser.execute_script(body)
        width = self.browser.execute_script(
            "return document.documentElement.scrollWidth")
        path = os.path.join(folder, "dark.png")
        self.browser.save_screenshot(path)
        self.assertGreater(os.path.getsize(path), 5000)
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia",
                                     {"features": []})
        self.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride",
                                     {})
        self.assertNotEqual(light, dark)
        self.assertLessEqual(width, 400)
        for name in ("Node", "Text"):
            self.assertEqual(self.part(name.lower()).accessible_name, name)
        self.assertEqual(self.part("bar").accessible_name, "Progress")
        self.assertEqual(self.part("status").aria_role, "status")

    def folder(self) -> str:
        result = tempfile.mkdtemp(prefix="reeve-screenshots-")
        self.addCleanup(shutil.rmtree, result)
        return result

    def test_progress_is_shown_while_it_runs(self):
        fake = self.start_analysis()
        node = self.start_allowed(fake)
        self.open(node)
        fake.mode("hang", times=1)
        self.submit("A text that takes its time.")
        self.wait_for_call(fake)
        wait_until(lambda: self.text("message") == "analysing",
                   "the progress")
        self.assertEqual(self.text("status"), "PROCESSING")
        self.assertEqual(self.text("live"), "live")
        self.assertEqual(self.part("bar").get_property("value"), 10)
        node.post(f"/api/jobs/{self.text('job-id')}/cancel")
        wait_until(lambda: self.text("status") == "CANCELLED",
                   "the cancellation to be shown")
        self.assertFalse(self.part("card").is_displayed())

    def test_hostile_text_does_not_run(self):
        fake = self.start_analysis()
        node = self.start_allowed(fake)
        self.open(node)
        # The fake's summary is the first sentence: the hostile part itself.
        self.submit(HOSTILE)
        self.wait_for_card()
        self.assertIn("<img src=x onerror=", self.text("summary"))
        self.assertIn("<script>", self.text("summary"))
        # And as the error of a job, told by the server.
        fake.mode("http:400;detail=<img src=x onerror=document.title='owned'>")
        self.submit("Refused.")
        wait_until(lambda: self.text("status") == "FAILED", "the failure")
        self.assertIn("<img src=x onerror=", self.text("error"))
        self.assertEqual(self.browser.title, "Reeve: watch a job")
        self.assertEqual(self.count("main img, main script, main svg, main b"),
                         0)

    def test_job_survives_the_node(self):
        fake = self.start_analysis()
        node = self.start_allowed(fake, {"http.port": free_port()})
        self.open(node)
        fake.mode("hang", times=1)
        self.submit("The node dies in the middle of this.")
        self.wait_for_call(fake)
        wait_until(lambda: self.text("live") == "live", "the stream")
        job_id = self.text("job-id")
        node.kill9()
        wait_until(lambda: "away" in self.text("live"),
                   "the page to notice")
        self.assertEqual(self.text("status"), "PROCESSING")
        node.start()
        self.wait_for_card()
        self.assertEqual(self.text("job-id"), job_id)
        self.assertEqual(self.text("status"), "COMPLETED")
        self.assertIn("The node dies in the middle", self.text("summary"))
        self.assertEqual(node.job(job_id)["attempts"], 2)

    def test_polling_when_streams_are_refused(self):
        fake = self.start_analysis()
        node = self.start_allowed(fake)
        self.open(node)
        # Some proxies and browsers do that: an event source that never opens.
        self.browser.execute_script("""
            window.EventSource = class extends EventTarget {
                static OPEN = 1;
                static CLOSED = 2;
                constructor() {
                    super();
                    this.readyState = 2;
                    setTimeout(() => this.onerror && this.onerror(), 0);
                }
                close() {}
            };""")
        fake.mode("ok;delay=2", times=1)
        self.submit("Followed by polls alone.")
        wait_until(lambda: self.text("status") == "PROCESSING", "a poll")
        self.assertEqual(self.text("live"), "polling")
        self.wait_for_card()
        self.assertEqual(self.text("status"), "COMPLETED")

    def test_finished_stream_is_not_reopened(self):
        node = self.start_allowed()
        self.open(node)
        job = node.wait_for_job(node.add_scrap("Short.")["job_id"])
        path = f"/api/jobs/{job['id']}/events"
        answer = node.get(path, {"Last-Event-ID": str(job["version"])})
        self.assertEqual((answer.status, answer.body), (204, b""))
        # So a page that never closes its source is told so, and gives up.
        self.browser.execute_script(
            "window.source = new EventSource(arguments[0])", node.url + path)
        wait_until(lambda: self.browser.execute_script(
            "return source.readyState") == 2, "the browser to give up", 15)

    def test_errors_are_told(self):
        node = self.start_allowed()
        self.open(node)
        self.submit("U+0000 \0 cannot be stored.")
        wait_until(lambda: self.part("error").is_displayed(), "the error")
        refused = self.assert_problem(
            node.post("/api/scraps", {"content": "\0"}), 400)
        self.assertEqual(self.text("error"), refused["detail"])
        self.assertFalse(self.part("job").is_displayed())
        # A node that is not there, or does not allow this page.
        foreign = self.start()
        for url in (f"http://127.0.0.1:{free_port()}", foreign.url):
            self.part("node").clear()
            self.part("node").send_keys(url + "/")
            self.submit("To nobody.")
            wait_until(lambda: "cannot be reached" in self.text("error"),
                       "the error")
            self.assertIn(url, self.text("error"))
            self.assertIn("allowed-origins", self.text("error"))
        self.assertEqual(foreign.get("/api/jobs").json["jobs"], [])


if __name__ == "__main__":
    unittest.main()
