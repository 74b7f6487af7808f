// Lets speedscope import files, in the browser that it is made for, and prints what it
// said as JSON: a line for each file.
//
//   node speedscope.mjs TOOLS FILE…     TOOLS: the folder that tools.sh made for Node
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";

const [tools, ...files] = process.argv.slice(2);
const require = createRequire(join(tools, "package.json"));
const { chromium } = require("playwright-core");
const release = join(tools, "node_modules/speedscope/dist/release");
if (!readdirSync(release).includes("index.html")) throw new Error(`no speedscope in ${tools}`);

const folder = mkdtempSync(join(tmpdir(), "speedscope-"));
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--headless", "--no-sandbox", "--disable-quic", "--no-first-run", "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader", "--allow-file-access-from-files", "--disable-background-networking",
    "--disable-component-update", "--disable-sync"],
});
try {
  for (const [number, file] of files.entries()) {
    // As speedscope's own command does: a script hands the file over.
    const script = join(folder, `${number}.js`);
    const content = readFileSync(file).toString("base64");
    writeFileSync(script, `speedscope.loadFileFromBase64(${JSON.stringify(basename(file))}, "${content}")`);
    const page = await browser.newPage();
    const [said, wrong] = [[], []];
    const harmless = ["log", "info", "timeEnd"];
    page.on("console", (message) => (harmless.includes(message.type()) ? said : wrong).push(message.text()));
    page.on("pageerror", (error) => wrong.push(`error: ${error.message}`));
    page.on("dialog", (dialog) => { wrong.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
    await page.goto(`${pathToFileURL(join(release, "index.html")).href}#localProfilePath=${script}`);
    await page.waitForFunction(() => document.title.endsWith(" - speedscope"), null, { timeout: 60_000 });
    await page.waitForTimeout(500);
    const text = await page.evaluate(() => document.body.innerText);
    console.log(JSON.stringify({ file: basename(file), title: await page.title(), said, wrong, text }));
    await page.close();
  }
} finally {
  await browser.close();
  rmSync(folder, { recursive: true });
}
