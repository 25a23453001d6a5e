# SPDX-License-Identifier: BSD-2-Clause
"""Chromium without a window, driven through its DevTools protocol over a pipe (--remote-debugging-pipe): opens a file,
moves the mouse, presses keys, runs scripts, takes screenshots, and collects what the console says."""
import base64
import json
import os
import shutil
import subprocess
import tempfile
import time

from patience import PATIENCE

NAMES = ("chromium", "chromium-browser", "google-chrome")
# No sandbox: tests run as root, and open only files that they made.
OPTIONS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe",
           "--no-first-run", "--disable-extensions", "--hide-scrollbars", "--force-device-scale-factor=1")
KEYS = {"Tab": 9, "PageUp": 33, "PageDown": 34, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Escape": 27, "Enter": 13}


class Unavailable(Exception):
    pass


class Browser:
    def __init__(self, width=1400, height=1000, dark=False):
        program = next(filter(None, map(shutil.which, NAMES)), None)
        if not program:
            raise Unavailable("there is no Chromium")
        # Ubuntu's chromium-browser is a script that asks for a snap.
        if subprocess.run([program, "--version"], capture_output=True, check=False, timeout=PATIENCE).returncode:
            raise Unavailable(f"{program} does not start")
        self.folder = tempfile.mkdtemp(prefix="gmt-browser-")
        to_read, self.to = os.pipe()
        self.answers, to_write = os.pipe()
        argv = [program, *OPTIONS, f"--user-data-dir={self.folder}", f"--window-size={width},{height}"]
        # The browser reads descriptor 3 and writes descriptor 4.
        self.child = subprocess.Popen(
            ["/bin/sh", "-c", f'exec "$0" "$@" 3<&{to_read} 4>&{to_write}', *argv], pass_fds=(to_read, to_write),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.rest, self.number, self.session, self.errors, self.loaded = b"", 0, None, [], False
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def close(self):
        os.close(self.to)
        self.child.kill()
        self.child.wait()
        os.close(self.answers)
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # ---- the protocol ----

    def message(self):
        while b"\0" not in self.rest:
            data = os.read(self.answers, 1 << 20)
            if not data:
                raise AssertionError("Chromium has ended")
            self.rest += data
        text, _, self.rest = self.rest.partition(b"\0")
        return json.loads(text)

    def note(self, event):
        """What the page does by itself."""
        method, what = event.get("method"), event.get("params", {})
        if method == "Page.loadEventFired":
            self.loaded = True
        elif method == "Runtime.exceptionThrown":
            self.errors.append(what["exceptionDetails"].get("exception", {}).get("description") or str(what))
        elif method == "Runtime.consoleAPICalled" and what["type"] in ("error", "warning"):
            self.errors.append(str(what["args"]))
        elif method == "Log.entryAdded" and what["entry"]["level"] in ("error", "warning"):
            self.errors.append(what["entry"]["text"])
        elif method == "Network.requestWillBeSent" and not what["request"]["url"].startswith(("file:", "data:")):
            self.errors.append("it asks for " + what["request"]["url"])

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.message()
            if answer.get("id") == self.number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]
            self.note(answer)

    # ---- what people do ----

    def open(self, path):
        self.loaded = False
        self.call("Page.navigate", url="file://" + os.path.abspath(path))
        while not self.loaded:
            self.note(self.message())

    def run(self, script):
        """The value of an expression; promises are waited for."""
        done = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def until(self, script):
        end = time.monotonic() + PATIENCE
        while not self.run(script):
            assert time.monotonic() < end, script
            time.sleep(0.02)

    def frame(self):
        """Until the page has drawn."""
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x, y):
        self.mouse("mousePressed", x, y, button="left", clickCount=1)
        self.mouse("mouseReleased", x, y, button="left", clickCount=1)
        self.frame()

    def drag(self, x, y, to_x, to_y, **more):
        self.mouse("mousePressed", x, y, button="left", clickCount=1, **more)
        for part in range(1, 6):
            self.mouse("mouseMoved", x + (to_x - x) * part / 5, y + (to_y - y) * part / 5, button="left", buttons=1, **more)
        self.mouse("mouseReleased", to_x, to_y, button="left", clickCount=1, **more)
        self.frame()

    def key(self, name):
        more = {"windowsVirtualKeyCode": KEYS[name]} if name in KEYS else {"text": name}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=name, **more)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=name)
        self.frame()

    def traced(self, act):
        """The events of Chromium's timeline while act() runs."""
        events, note, done = [], self.note, []

        def collect(event):
            events.extend(event["params"]["value"] if event.get("method") == "Tracing.dataCollected" else [])
            done.extend([1] if event.get("method") == "Tracing.tracingComplete" else [])
            note(event)

        self.note = collect
        self.call("Tracing.start", transferMode="ReportEvents",
                  traceConfig={"includedCategories": ["devtools.timeline", "blink.user_timing"]})
        act()
        self.call("Tracing.end")
        while not done:
            self.note(self.message())
        self.note = note
        return events

    def box(self, selector):
        """(x, y, width, height) of an element in the window."""
        return self.run(f"(b => [b.x, b.y, b.width, b.height])(document.querySelector({json.dumps(selector)})"
                        ".getBoundingClientRect())")

    def screenshot(self, path, whole=False):
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot["data"]))
