// Measures the viewer's page in headless chromium, which draws in software: time to the first picture, time
// between frames and for drawing one while the page is zoomed and moved by keys, memory of the browser.
// What docs/guide/viewing.md says under "How fast" comes from here.
//
//   node scripts/view-speed.mjs REPEATS COMMAND...     a command that prints the page's address
//   node scripts/view-speed.mjs 5 target/release/examples/made_view large
import { spawn } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";

const { chromium } = createRequire(new URL("../tests/browser/", import.meta.url))("playwright-core");
const [repeats, command, ...args] = process.argv.slice(2);
if (!command) {
  console.error("usage: node view-speed.mjs REPEATS COMMAND...");
  process.exit(2);
}
const server = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
const url = await new Promise((resolve, reject) => {
  server.stdout.once("data", (data) => resolve(String(data).trim()));
  server.once("exit", (code) => reject(new Error(`${command} ended with ${code}`)));
});
// A server that records after its address is printed answers when that is done.
while (!(await fetch(`${url}session.json`).catch(() => null))?.ok) await new Promise((resolve) => setTimeout(resolve, 500));

/**
 * What a process and all below it have used: bytes of memory (shared ones in parts), of the page's alone, CPU time of both in
 * ms, which does not depend much on other load. */
function used(pid) {
  const parents = new Map(readdirSync("/proc").filter((name) => /^\d+$/.test(name)).flatMap((name) => {
    try {
      const after = readFileSync(`/proc/${name}/stat`, "utf8").split(") ")[1];
      return [[Number(name), Number(after.split(" ")[1])]];
    } catch {
      return [];
    }
  }));
  const of = (/** @type {number} */ one) => [one, ...[...parents].filter(([, parent]) => parent === one).flatMap(([child]) => of(child))];
  let all = 0, page = 0, cpu = 0, pageCpu = 0;
  for (const one of of(pid)) {
    try {
      const bytes = Number(readFileSync(`/proc/${one}/smaps_rollup`, "utf8").match(/^Pss:\s+(\d+)/m)[1]) * 1024;
      all += bytes;
      const [user, system] = readFileSync(`/proc/${one}/stat`, "utf8").split(") ")[1].split(" ").slice(11, 13).map(Number);
      cpu += (user + system) * 10;
      if (readFileSync(`/proc/${one}/cmdline`, "utf8").includes("--type=renderer") && bytes > page) {
        [page, pageCpu] = [bytes, (user + system) * 10];
      }
    } catch {
      // It has ended.
    }
  }
  return { all, page, cpu, pageCpu };
}

const median = (/** @type {number[]} */ list) => [...list].sort((a, b) => a - b)[Math.floor((list.length - 1) / 2)];
const rows = [];
for (let repeat = 0; repeat < Number(repeats); repeat++) {
  const before = new Set(readdirSync("/proc"));
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"],
  });
  const own = readdirSync("/proc").filter((name) => /^\d+$/.test(name) && !before.has(name)).map(Number);
  const pid = own.find((one) => {
    try {
      const words = readFileSync(`/proc/${one}/cmdline`, "utf8");
      return words.includes("chrom") && words.includes("--remote-debugging") && !words.includes("--type=");
    } catch {
      return false;
    }
  });
  const page = await browser.newPage({ viewport: { width: 1440, height: 860 } });
  await page.goto(url);
  await page.waitForSelector("html[data-ready]", { timeout: 60_000 });
  const first = await page.evaluate(() => performance.getEntriesByName("rtscope-first-picture")[0].startTime);
  const firstCpu = used(pid ?? -1).pageCpu;
  await page.waitForTimeout(1000);
  await page.locator("#stage").focus();
  await page.evaluate(() => globalThis.rtscopeFrames.forget());
  const start = used(pid ?? -1);
  let most = { all: 0, page: 0 }, last = start;
  for (const key of ["w", "d", "w", "d", "a", "w", "d", "s", "a", "s"]) {
    await page.keyboard.down(key);
    await page.waitForTimeout(900);
    await page.keyboard.up(key);
    const now = used(pid ?? -1);
    last = now;
    most = { all: Math.max(most.all, now.all), page: Math.max(most.page, now.page) };
  }
  const { frames, between, drawing } = await page.evaluate(() => globalThis.rtscopeFrames.read());
  const drawn = await page.evaluate(() => globalThis.rtscopeFrames.drawing.length);
  await browser.close();
  const row = {
    first, firstCpu, frames, fps: 1000 / between.middle, between: between.middle, between95: between.p95,
    pageCpu: (last.pageCpu - start.pageCpu) / Math.max(1, drawn), browserCpu: (last.cpu - start.cpu) / Math.max(1, drawn), drawing: drawing.middle, drawing95: drawing.p95, page: most.page / 1e6, browser: most.all / 1e6,
  };
  rows.push(row);
  console.log(Object.entries(row).map(([name, value]) => `${name} ${value.toFixed(1)}`).join("  "));
}
console.log(`median: ${Object.keys(rows[0]).map((name) => `${name} ${median(rows.map((row) => row[name])).toFixed(1)}`).join("  ")}`);
const status = readFileSync(`/proc/${server.pid}/status`, "utf8").match(/VmHWM:\s+(\d+)/);
console.log(`server: ${(Number(status?.[1] ?? 0) * 1024 / 1e6).toFixed(0)} MB resident at most`);
server.stdin.end();
server.kill("SIGINT");
