// Takes the pictures of docs/guide/pictures from recordings of workloads with a known fault: each shows the
// moment at which its cause is seen best. scripts/pictures makes the recordings first.
//
//   node pictures.mjs RTSCOPE RECORDINGS OUT
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

const { chromium } = createRequire(new URL("../tests/browser/", import.meta.url))("playwright-core");

const [rtscope, recordings, out] = process.argv.slice(2);
if (!out) {
  console.error("usage: node pictures.mjs RTSCOPE RECORDINGS OUT");
  process.exit(2);
}
const BYTES_MAX = 200 * 1024;

/** What each recording is to show: pauses with this cause, which process caused them, and how much around the clearest one. */
const pictures = {
  throttled: { workload: "throttled", cause: "throttled", around: 2.2 },
  preempted: { workload: "neighbour", cause: "preempted", who: "noisy-batch", around: 0.3 },
  oversubscribed: { workload: "oversubscribed", cause: "oversubscribed", around: 0.9 },
};

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"],
});

/** Where one of the longest pauses was spent on nothing but this cause. */
async function clearest(url, { cause, who }) {
  const session = await (await fetch(`${url}session.json`)).json();
  const lines = await (await fetch(`${url}pauses?from=0&to=${session.span_ns}&limit=1000`)).text();
  let best = null, most = 0;
  for (const pause of lines.trim().split("\n").map((line) => JSON.parse(line))) {
    const waited = pause.causes.filter((piece) => piece.cause === cause && (!who || piece.who === who));
    const ns = waited.reduce((sum, piece) => sum + piece.to_ns - piece.from_ns, 0);
    const length = pause.released_ns - pause.requested_ns;
    const clear = ns * (ns / Math.max(1, length));
    if (clear > most) [best, most] = [pause, clear];
  }
  if (!best) throw new Error(`no pause because of ${cause} ${who ?? ""}`);
  return { from: best.requested_ns - session.from_ns, to: best.released_ns - session.from_ns };
}

let wrong = 0;

async function shoot(what, name) {
  const path = join(out, name);
  await what.screenshot({ path });
  const { size } = statSync(path);
  console.log(`${path}: ${size} bytes`);
  if (size > BYTES_MAX) [wrong] = [1, console.error(`${path} is too large`)];
}

for (const [name, picture] of Object.entries(pictures)) {
  const child = spawn(rtscope, ["view", "--no-open", join(recordings, `${picture.workload}.rtscope`)], { stdio: ["ignore", "pipe", "inherit"] });
  const url = await new Promise((resolve, reject) => {
    child.stdout.once("data", (data) => resolve(String(data).trim()));
    child.once("exit", (code) => reject(new Error(`${name}: rtscope ended with ${code}`)));
  });
  const { from, to } = await clearest(url, picture), more = (to - from) * picture.around;
  const page = await browser.newPage({ viewport: { width: 1180, height: 900 }, colorScheme: "light" });
  await page.goto(`${url}#t=${Math.max(0, Math.round(from - more))}-${Math.round(to + more)}`);
  await page.waitForSelector("html[data-ready]");
  // What says nothing here goes: the figures of the machine, threads that sleep, the panel.
  await page.evaluate(() => { document.querySelector("#side").hidden = true; });
  for (const group of ["Memory", "Other threads", "Machine"]) {
    const button = page.locator("button.group[aria-expanded=true]", { hasText: group });
    if (await button.count() > 0) await button.first().click();
  }
  await page.waitForTimeout(300);
  const bottom = await page.evaluate(() => {
    const labels = [...document.querySelectorAll(".label")].filter((label) => !/Other threads|Machine/.test(label.textContent));
    const last = Math.max(...labels.map((label) => label.getBoundingClientRect().bottom));
    return last + document.querySelector("footer").getBoundingClientRect().height;
  });
  await page.setViewportSize({ width: 1180, height: Math.ceil(bottom) + 12 });
  await page.waitForTimeout(1500);
  await shoot(page, `view-${name}.png`);
  await page.close();
  child.kill("SIGINT");
}

// The longest pause as the report's page draws it.
const folder = mkdtempSync(join(tmpdir(), "rtscope-pictures-"));
const file = join(folder, "page.html");
execFileSync(rtscope, ["report", join(recordings, "neighbour.rtscope"), "--html", file], { stdio: ["ignore", "ignore", "inherit"] });
const page = await browser.newPage({ viewport: { width: 1180, height: 900 }, colorScheme: "light" });
await page.goto(`file://${file}`);
await shoot(page.locator("#worst article svg").first(), "page-pause.png");
rmSync(folder, { recursive: true });
await browser.close();
process.exit(wrong);
