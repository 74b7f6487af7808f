// Opens the page of every situation in Debian's chromium, in both colour
// schemes: nothing on the console, nothing requested, every section and drawing
// there and of some size, text readable on its background, no serious finding of axe-core.
//
//   node test.mjs FOLDER [SHOTS]    pages in FOLDER, pictures into SHOTS
import { readFileSync, readdirSync, mkdirSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [folder, shots] = process.argv.slice(2);
if (!folder) {
  console.error("usage: node test.mjs FOLDER [SHOTS]");
  process.exit(2);
}
const pages = readdirSync(folder).filter((name) => name.endsWith(".html")).sort();
if (pages.length === 0) {
  console.error(`browser test: no page in ${folder}; run.sh writes them`);
  process.exit(1);
}
if (shots) mkdirSync(shots, { recursive: true });
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

// What each situation has to show; `drawings` counts figures.
const measured = ["verdict", "figures", "distribution", "over-time", "lanes", "utilisation", "memory", "worst", "allocation"];
const everything = [...measured, "losses"];
const withTransactions = [...measured.slice(0, 7), "transactions", ...measured.slice(7)];
const expected = {
  empty: { sections: ["verdict", "figures", "losses"], drawings: 0 },
  kernel_only: { sections: ["verdict", "figures", "memory", "losses"], drawings: 1 },
  healthy: { sections: everything, drawings: 10 },
  non_threaded: { sections: everything, drawings: 10 },
  profiled: { sections: everything, drawings: 10 },
  heaps: { sections: [...measured.slice(0, 7), "heap-map", ...measured.slice(7), "losses"], drawings: 10 },
  contended: { sections: [...withTransactions, "losses"], drawings: 11 },
  attempts_alone: { sections: [...withTransactions, "losses"], drawings: 11 },
  concurrent: { sections: [...measured, "concurrent", "sparks", "losses"], drawings: 10 },
  domains: {
    sections: [...measured.slice(0, 7), "rates", ...measured.slice(7), "user", "losses"], drawings: 11,
  },
  hostile: { sections: ["verdict", "requests", "account", "waits", ...withTransactions.slice(1), "user", "losses"], drawings: 18 },
  loaded: { sections: ["verdict", "requests", ...measured.slice(1), "losses"], drawings: 11 },
  load: { sections: ["verdict", "figures", "over-time", "curve"], drawings: 2, schema: "rtscope/load/1" },
  stm_bench: { sections: ["verdict", "benchmark-1", "benchmark-2"], drawings: 2, schema: "rtscope/stm-bench/1" },
  throttled: { sections: ["verdict", "account", ...measured.slice(1), "losses"], drawings: 16 },
  foreign: { sections: [...measured.slice(0, -1), "code", "allocation", "losses"], drawings: 16 },
  heap_map: { sections: [...measured.slice(0, 7), "heap-map", ...measured.slice(7), "losses"], drawings: 10, drawn: 1 },
  compare: {
    sections: ["verdict", "account", "clock", "distribution", "figures", "over-time", "utilisation", "lanes", "worst", "findings", "losses"], drawings: 15,
    schema: "rtscope/compare/1",
  },
};
const usual = { sections: everything, drawings: 16 };

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
const failures = [];
let [passed, failed] = [0, 0];
const situations = pages.flatMap((name) => [true, false].map((scripts) => [name.replace(/\.html$/, ""), scripts]));
// Two at a time: a page waits for the browser, and the browser for the page.
await Promise.all([0, 1].map(async () => {
  for (let next = situations.shift(); next; next = situations.shift()) {
    for (const found of await check(...next)) {
      failures.push(...found);
      if (found.length === 0) passed += 1;
      else failed += 1;
    }
  }
}));
await browser.close();
for (const failure of failures) console.error(failure);
console.log(`browser test: ${pages.length} pages, each light and dark, with and without scripts`);
console.log(`${passed} passed, ${failed} failed`);
process.exit(failures.length === 0 ? 0 : 1);

// What is wrong with a page in light, and in dark colours.
async function check(name, javaScriptEnabled) {
  const found = { light: [], dark: [] };
  let colorScheme = "light";
  const fail = (what) => found[colorScheme].push(`${name} (${colorScheme}, ${javaScriptEnabled ? "with" : "without"} scripts): ${what}`);
  const context = await browser.newContext({ colorScheme, javaScriptEnabled, viewport: { width: 1100, height: 900 } });
  const page = await context.newPage();
  const url = pathToFileURL(resolve(join(folder, `${name}.html`))).href;
  page.on("console", (message) => fail(`console ${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => fail(`error: ${error.message}`));
  page.on("dialog", (dialog) => { fail(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on("request", (request) => { if (request.url() !== url) fail(`request: ${request.url()}`); });
  await page.goto(url, { waitUntil: "load" });
  await checkContent(page, name, javaScriptEnabled, fail);
  for (colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    for (const problem of await page.evaluate(unreadable)) fail(problem);
    if (name === "heap_map" && javaScriptEnabled) {
      await page.reload({ waitUntil: "load" });
      await checkMap(page, fail);
    }
    if (shots && javaScriptEnabled) await page.screenshot({ path: join(shots, `${name}-${colorScheme}.png`), fullPage: true });
    // Of all that axe looks at, only contrast depends on the colours: the rest once.
    if (javaScriptEnabled) await checkAccess(page, colorScheme === "light" ? {} : { runOnly: ["color-contrast"] }, fail);
  }
  await context.close();
  return Object.values(found);
}

async function checkContent(page, name, javaScriptEnabled, fail) {
  const { sections, drawings, drawn: instead = 0, schema = "rtscope/page/1" } = expected[name] ?? usual;
  const shown = await page.locator("section").evaluateAll((all) => all.map((one) => one.id));
  if (shown.join() !== sections.join()) fail(`sections are ${shown}, not ${sections}`);
  const boxes = await page.locator("figure svg, section").evaluateAll((all) =>
    all.map((one) => ({ what: one.id || one.getAttribute("aria-label"), box: one.getBoundingClientRect().toJSON() })));
  for (const { what, box } of boxes) {
    if (!(box.width > 100 && box.height > 20)) fail(`${what} is ${box.width} x ${box.height}`);
  }
  const drawn = await page.locator("figure svg").count();
  const wanted = drawings + (javaScriptEnabled ? 0 : instead);
  if (drawn !== wanted) fail(`${drawn} drawings, not ${wanted}`);
  for (const width of [400, 1100]) {
    await page.setViewportSize({ width, height: 900 });
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (overflow > 0) fail(`the page is ${overflow} px wider than a window of ${width} px`);
  }
  const data = await page.locator("#rtscope-data").evaluate((one) => JSON.parse(one.textContent));
  if (data.schema !== schema) fail(`embedded data of schema ${data.schema}`);
  const size = statSync(join(folder, `${name}.html`)).size;
  if (size >= 1_000_000) fail(`the page has ${size} bytes`);
}

async function checkAccess(page, options, fail) {
  // From outside the page, whose policy lets no script in.
  await page.evaluate(axe);
  const { violations } = await page.evaluate((options) => globalThis.axe.run(document, { resultTypes: ["violations"], ...options }), options);
  for (const { id, impact, nodes } of violations) {
    if (impact === "serious" || impact === "critical") fail(`axe: ${id} (${impact}): ${nodes.slice(0, 3).map((node) => node.html.slice(0, 120)).join(" | ")}`);
  }
}

// The map of the heap: the slider, its buttons and keys change picture and figures; the
// figures are those of the data; pointer and keys describe squares.
async function checkMap(page, fail) {
  const data = await page.locator("#rtscope-heaps").evaluate((one) => JSON.parse(one.textContent));
  const last = data.shots.length - 1;
  const slider = page.locator("#h-slider");
  const picture = () => page.locator("#h-canvas").evaluate((canvas) => canvas.toDataURL());
  const seen = new Map();
  const check = async (index, how) => {
    if (Number(await slider.inputValue()) !== index) fail(`${how}: the slider is at ${await slider.inputValue()}, not ${index}`);
    const shot = data.shots[index];
    for (const [table, figures] of [["#h-legend", shot.kinds], ["#h-ledger", shot.ledger]]) {
      const rows = await page.locator(`${table} tr[data-key]`).evaluateAll((all) => all.map((row) =>
        [row.dataset.key, Number(row.cells[1].firstElementChild.value), row.cells[1].textContent, row.cells[2].textContent]));
      if (rows.length === 0) fail(`${table} is empty`);
      for (const [key, ...cells] of rows) {
        const wanted = figures[key] ?? [0, "-", ""];
        if (cells.join() !== wanted.join()) fail(`${how}: ${key} is ${cells}, not ${wanted}`);
      }
      for (const key of Object.keys(figures)) if (!rows.some((row) => row[0] === key)) fail(`${how}: no row for ${key}`);
    }
    const pinned = [...shot.map.matchAll(/(?:^|;)\d*([A-Za-z0-9]+)(?:\*(\d+))?/g)].reduce((sum, [, runs, times]) =>
      sum + Number(times || 1) * [...runs.matchAll(/[A-J](\d*)/g)].reduce((all, [, count]) => all + Number(count || 1), 0), 0);
    if (pinned * data.per * 4096 !== (shot.kinds["h-pinned"]?.[0] ?? 0)) fail(`${how}: the map has ${pinned} pinned squares`);
    if (!(await slider.getAttribute("aria-valuetext")).includes(shot.at)) fail(`${how}: the time is not shown`);
    const drawn = await picture();
    if (seen.has(index) && seen.get(index) !== drawn) fail(`${how}: snapshot ${index} looks another way than before`);
    for (const [other, before] of seen) if (other !== index && before === drawn) fail(`${how}: ${index} looks like ${other}`);
    seen.set(index, drawn);
  };
  await check(last, "at first");
  await slider.focus();
  await page.keyboard.press("Home");
  await check(0, "Home");
  await page.keyboard.press("ArrowRight");
  await check(1, "arrow right");
  await page.locator("#h-next").click();
  await check(2, "next");
  await page.locator("#h-previous").click();
  await check(1, "previous");
  await slider.focus();
  await page.keyboard.press("Home");
  if (!await page.locator("#h-previous").isDisabled()) fail("there is something before the first");
  await page.keyboard.press("End");
  await check(last, "End");
  if (!await page.locator("#h-next").isDisabled()) fail("there is something behind the last");

  const details = () => page.locator("#h-details").textContent();
  const start = "0x" + (data.first * 256).toString(16) + "000 to ";
  await page.locator("#h-canvas").focus();
  const first = await details();
  if (!first.startsWith(start) || !first.includes("descriptors; 4 blocks")) fail(`the first square is shown as ${first}`);
  for (let step = 0; step < 4; step += 1) await page.keyboard.press("ArrowRight");
  const pinned = await details();
  if (!pinned.includes("pinned objects, at most 11 % used")) fail(`a pinned square is shown as ${pinned}`);
  await page.keyboard.press("PageDown");
  if ((await details()).slice(0, 9) === pinned.slice(0, 9)) fail("the next megablock is shown like the one before");
  const box = await page.locator("#h-canvas").boundingBox();
  const unit = data.unit * box.width / data.width;
  await page.mouse.move(box.x + 1.5 * unit, box.y + 0.5 * unit);
  if (await details() !== first) fail(`under the pointer is ${await details()}`);
  if (await page.locator("#h-canvas").getAttribute("title") !== first) fail("the tooltip says something else");
}

// Runs in the page: text whose colour is too near to the paper, and shapes
// without any colour (a class that the style sheet does not know is black).
function unreadable() {
  const channel = (value) => (value /= 255) <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  const light = (colour) => {
    const [r, g, b] = colour.match(/[\d.]+/g).map(Number);
    return 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  };
  const contrast = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
  const paper = getComputedStyle(document.body).backgroundColor;
  const problems = new Set();
  for (const one of document.querySelectorAll("h1, h2, h3, h4, p, li, th, td, code, figcaption")) {
    const ratio = contrast(getComputedStyle(one).color, paper);
    if (ratio < 4.5) problems.add(`<${one.localName}> has a contrast of ${ratio.toFixed(1)}`);
  }
  for (const one of document.querySelectorAll("rect, circle")) {
    if (getComputedStyle(one).fill === "rgb(0, 0, 0)") problems.add(`.${one.getAttribute("class")} has no colour`);
  }
  return [...problems];
}
