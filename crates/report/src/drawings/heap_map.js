// The map of the heap: draws the snapshot that the slider is at, and describes the block under
// the pointer or the cursor. There is no less-than sign here: this stands inside a page.
(() => {
  "use strict";
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("rtscope-heaps").textContent);
  const canvas = byId("h-canvas"), details = byId("h-details"), slider = byId("h-slider");
  const ACROSS = 32, DOWN = 8, wide = ACROSS / data.across, high = DOWN / data.down;
  const inTile = data.across * data.down;
  const kinds = new Map(data.kinds.map((kind) => [kind.code, kind]));
  let shown = data.shots.length - 1, tiles = new Map(), slots = [], cursor = null;

  const gradeOf = (code) => (code >= "A" && "J" >= code ? code.charCodeAt(0) - 65 : -1);
  const kindOf = (code) => kinds.get(gradeOf(code) >= 0 ? "p" : code);

  const read = (text) => {
    const found = new Map();
    let slot = data.first - 1;
    for (const part of text ? text.split(";") : []) {
      const [, skip, runs, times] = part.match(/^(\d*)([^*]*)(?:\*(\d+))?$/);
      const squares = [];
      for (const [, code, count] of runs.matchAll(/([A-Za-z])(\d*)/g)) {
        for (let left = Number(count || 1); left > 0; left--) squares.push(code);
      }
      slot += Number(skip || 1) - 1;
      for (let left = Number(times || 1); left > 0; left--) found.set(++slot, squares);
    }
    return found;
  };

  const place = (slot) => {
    for (const segment of data.segments) {
      const at = slot - segment.first;
      if (at >= 0 && segment.slots > at) {
        return [(at % data.columns) * (ACROSS + 1), segment.top + Math.floor(at / data.columns) * (DOWN + 1)];
      }
    }
    return null;
  };

  const draw = () => {
    if (!canvas || data.height === 0) return;
    const style = getComputedStyle(document.documentElement);
    const side = matchMedia("(prefers-color-scheme: dark)").matches ? 2 : 1;
    // A canvas takes no `light-dark()`.
    const colour = (name) => /light-dark\(([^,]+),([^)]+)\)/.exec(style.getPropertyValue("--h-" + name))[side].trim();
    const ratio = Math.min(Math.max(window.devicePixelRatio || 1, 1), 2);
    const scale = data.unit * ratio;
    canvas.width = Math.ceil(data.width * ratio);
    canvas.height = Math.ceil(data.height * scale);
    canvas.style.width = data.width + "px";
    const to = canvas.getContext("2d");
    // Edges on whole pixels, where those are fine enough.
    const edge = (at) => (scale >= 2 ? Math.round(at * scale) : at * scale);
    const box = (x, y, w, h) => to.fillRect(edge(x), edge(y), edge(x + w) - edge(x), edge(y + h) - edge(y));
    for (const segment of data.segments) {
      for (let slot = segment.first; segment.first + segment.slots > slot; slot++) {
        const [x, y] = place(slot), squares = tiles.get(slot);
        if (!squares) {
          to.strokeStyle = colour("frame");
          to.lineWidth = 1;
          to.strokeRect(edge(x) + .5, edge(y) + .5, edge(x + ACROSS) - edge(x) - 1, edge(y + DOWN) - edge(y) - 1);
          continue;
        }
        to.fillStyle = colour("free");
        box(x, y, ACROSS, DOWN);
        for (let from = 0; inTile > from;) {
          const line = from - (from % data.across) + data.across;
          let end = from + 1;
          while (line > end && squares[end] === squares[from]) end++;
          const kind = kindOf(squares[from]), grade = gradeOf(squares[from]);
          const at = [x + (from % data.across) * wide, y + Math.floor(from / data.across) * high];
          if (kind && kind.colour !== "free") {
            to.fillStyle = colour(grade >= 0 ? "dead" : kind.colour);
            box(at[0], at[1], (end - from) * wide, high);
            if (grade > 0) {
              to.fillStyle = colour("pinned");
              const filled = (high * grade) / 9;
              const left = edge(at[0]), bottom = edge(at[1] + high);
              to.fillRect(left, bottom - filled * scale, edge(at[0] + (end - from) * wide) - left, filled * scale);
            }
          }
          from = end;
        }
        if (squares.every((code) => code === "g" || code === "d") && squares.includes("g")) {
          to.strokeStyle = colour("line");
          to.lineWidth = 1;
          to.beginPath();
          to.moveTo(edge(x), edge(y + DOWN));
          to.lineTo(edge(x + ACROSS), edge(y));
          to.stroke();
        }
      }
    }
    const spot = cursor && place(cursor.slot);
    if (spot) {
      to.strokeStyle = colour("ink");
      to.lineWidth = 2;
      const x = spot[0] + (cursor.at % data.across) * wide, y = spot[1] + Math.floor(cursor.at / data.across) * high;
      to.strokeRect(x * scale - 1, y * scale - 1, wide * scale + 2, high * scale + 2);
    }
  };

  const hex = (slot, block) => "0x" + (slot * 256 + block).toString(16) + "000";

  const words = (slot, at) => {
    const squares = tiles.get(slot);
    if (!squares) return hex(slot, 0) + ": a megablock of addresses that hold nothing";
    let from = at, end = at + 1;
    while (from > 0 && squares[from - 1] === squares[at]) from--;
    while (inTile > end && squares[end] === squares[at]) end++;
    const grade = gradeOf(squares[at]), kind = kindOf(squares[at]);
    const full = grade >= 0 ? ", " + data.grades[grade] : "";
    const blocks = (end - from) * data.per;
    const count = (data.per > 1 ? "squares for " : "") + blocks + (blocks === 1 ? " block, " : " blocks, ") + blocks * 4 + " KiB";
    return hex(slot, from * data.per) + " to " + hex(slot, end * data.per) + ": " + (kind ? kind.words : "?") + full + "; " + count;
  };

  const describe = (slot, at) => {
    const text = words(slot, at);
    details.textContent = text;
    canvas.title = text;
  };

  const fill = (table, rows) => {
    for (const row of table ? table.tBodies[0].rows : []) {
      const cells = rows[row.dataset.key] || [0, "-", ""];
      const value = row.cells[1].firstElementChild;
      value.value = String(cells[0]);
      value.textContent = cells[1];
      row.cells[2].textContent = cells[2];
    }
  };

  const show = (index) => {
    shown = Math.max(0, Math.min(data.shots.length - 1, index));
    const shot = data.shots[shown];
    tiles = read(shot.map);
    slots = [...tiles.keys()].filter(place);
    const number = shown + 1 + " of " + data.shots.length;
    const text = (shot.at ? "at " + shot.at + ", " : "") + shot.heap + " of heap" + (shot.rss ? ", " + shot.rss + " resident" : "");
    byId("h-time").textContent = number + ": " + text;
    slider.value = String(shown);
    slider.setAttribute("aria-valuetext", text);
    byId("h-previous").disabled = shown === 0;
    byId("h-next").disabled = shown === data.shots.length - 1;
    fill(byId("h-legend").querySelector("table"), shot.kinds);
    fill(byId("h-ledger").querySelector("table"), shot.ledger);
    if (canvas) {
      canvas.setAttribute("aria-label", "Map of the heap's blocks " + text + ". Arrow keys go from square to square.");
      if (cursor && place(cursor.slot)) describe(cursor.slot, cursor.at);
    }
    draw();
  };

  const under = (event) => {
    const frame = canvas.getBoundingClientRect(), unit = (data.unit * frame.width) / data.width;
    const x = (event.clientX - frame.left) / unit, y = (event.clientY - frame.top) / unit;
    for (const segment of data.segments) {
      const row = Math.floor((y - segment.top) / (DOWN + 1)), column = Math.floor(x / (ACROSS + 1));
      const at = row * data.columns + column;
      const [left, top] = [x - column * (ACROSS + 1), y - segment.top - row * (DOWN + 1)];
      if (0 > row || at >= segment.slots || left >= ACROSS || top >= DOWN || column >= data.columns || 0 > left) continue;
      return [segment.first + at, Math.floor(top / high) * data.across + Math.floor(left / wide)];
    }
    return null;
  };

  const move = (by) => {
    if (!cursor) cursor = { slot: slots[0], at: 0 };
    else {
      let index = slots.indexOf(cursor.slot), at = cursor.at + by;
      if (index === -1) [index, at] = [0, 0];
      index = Math.max(0, Math.min(slots.length - 1, index + Math.floor(at / inTile)));
      cursor = { slot: slots[index], at: ((at % inTile) + inTile) % inTile };
    }
    describe(cursor.slot, cursor.at);
    draw();
  };

  slider.addEventListener("input", () => show(Number(slider.value)));
  byId("h-previous").addEventListener("click", () => show(shown - 1));
  byId("h-next").addEventListener("click", () => show(shown + 1));
  if (canvas && data.height > 0) {
    const keys = {
      ArrowRight: 1, ArrowLeft: -1, ArrowDown: data.across, ArrowUp: -data.across, PageDown: inTile, PageUp: -inTile,
    };
    canvas.addEventListener("mousemove", (event) => {
      const spot = under(event);
      if (spot) describe(spot[0], spot[1]);
    });
    canvas.addEventListener("click", (event) => {
      const spot = under(event);
      cursor = spot ? { slot: spot[0], at: spot[1] } : null;
      if (spot) describe(spot[0], spot[1]);
      draw();
    });
    canvas.addEventListener("focus", () => { if (!cursor && slots.length > 0) move(0); });
    canvas.addEventListener("keydown", (event) => {
      if (!(event.key in keys) || slots.length === 0 || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      move(keys[event.key]);
    });
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  byId("h-controls").hidden = data.shots.length === 1;
  show(shown);
})();
