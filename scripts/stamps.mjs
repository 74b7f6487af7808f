// What Cargo asks of a source is its time, and a fresh checkout's are all new. This keeps the times
// of the files of this checkout with what they hold, and gives them back to those that still hold the
// same: everything else is new.
// usage: node scripts/stamps.mjs keep|restore FILE
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { lstatSync, readFileSync, readdirSync, readlinkSync, utimesSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

const hash = (what) => createHash("sha256").update(what).digest("hex");

/** What a file, link or folder holds; of a folder, its names. */
function content(path, about) {
  if (about.isSymbolicLink()) return readlinkSync(path);
  return about.isDirectory() ? readdirSync(path).sort().join("\0") : readFileSync(path);
}

/** Of each file and folder of this checkout: its time in seconds, and a hash of what it holds. */
function stamps() {
  const list = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], { maxBuffer: 1 << 28 });
  const files = list.toString().split("\0").filter(Boolean);
  const paths = new Set(files);
  for (const file of files) {
    for (let folder = dirname(file); folder !== "."; folder = dirname(folder)) paths.add(folder);
  }
  const found = {};
  for (const path of paths) {
    const about = lstatSync(path, { throwIfNoEntry: false });
    // To a microsecond, and never later than it is: what is later than its build is built anew.
    if (about) found[path] = { time: Math.floor(about.mtimeMs * 1000) / 1e6, hash: hash(content(path, about)) };
  }
  return found;
}

const [what, store] = process.argv.slice(2);
if (what === "keep") {
  writeFileSync(store, JSON.stringify(stamps()));
} else if (what === "restore") {
  const kept = JSON.parse(readFileSync(store, "utf8"));
  const now = Date.now() / 1000;
  for (const [path, { hash: held }] of Object.entries(stamps())) {
    if (lstatSync(path).isSymbolicLink()) continue;
    const time = kept[path]?.hash === held ? kept[path].time : now;
    utimesSync(path, time, time);
  }
} else {
  console.error("usage: node scripts/stamps.mjs keep|restore FILE");
  process.exit(2);
}
