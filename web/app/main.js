// Puts the page together: requests the session, makes the parts, connects them to events, and
// draws once a frame when something has changed. Holds no rule of its own.

import * as api from "./api.js";
import * as findings from "./findings.js";
import * as hit from "./hit.js";
import * as input from "./input.js";
import * as link from "./url.js";
import * as over from "./over.js";
import * as describe from "./describe.js";
import * as present from "./present.js";
import * as theme from "./theme.js";
import { Bubble } from "./bubble.js";
import { Frames } from "./frames.js";
import { Inspector } from "./inspector.js";
import { Keys } from "./keys.js";
import { Labels } from "./labels.js";
import { Overview } from "./overview.js";
import { Panel } from "./panel.js";
import { Pauses, summed } from "./pauses.js";
import { Announcer } from "./announcer.js";
import { Scene } from "./scene.js";
import { Search } from "./search.js";
import { Selection } from "./selection.js";
import { State } from "./state.js";
import { Tiles } from "./tiles.js";
import { axis } from "./time.js";
import { around, panned, zoomed } from "./view.js";
import { byId, clean, el } from "./dom.js";
import { duration } from "./units.js";
import * as legend from "./legend.js";

const frames = new Frames();
Object.assign(globalThis, { rtscopeFrames: frames });

/** @param {unknown} error */
function words(error) {
  return error instanceof Error ? error.message : String(error);
}

/** @param {string | null} text */
function failure(text) {
  const line = byId("trouble", HTMLElement);
  if (line.hidden === (text === null) && line.textContent === (text ?? "")) return;
  line.hidden = text === null;
  line.textContent = text ?? "";
}

theme.choose(theme.chosen());
api.session().then(start).catch((error) => failure(`The session cannot be shown: ${words(error)}`));

/** @param {import("./types").Session} session */
function start(session) {
  const state = new State(session), announcer = new Announcer(byId("says", HTMLElement));
  const announce = (/** @type {string} */ text) => announcer.announce(text);
  const probe = byId("probe", HTMLElement), stage = byId("stage", HTMLElement), scroller = byId("scroller", HTMLElement);
  let look = theme.lookOfPage(session.kinds, probe);

  const tiles = new Tiles({ fetch: api.tiles, changed: () => draw("below"), failure });
  const scene = new Scene(byId("below", HTMLCanvasElement), byId("above", HTMLCanvasElement), state, tiles);
  const overview = new Overview(byId("overview", HTMLCanvasElement), state, tiles);
  const labels = new Labels(byId("labels", HTMLElement), state);
  const bubble = new Bubble(byId("bubble", HTMLElement), scene);
  const panel = new Panel(byId("side", HTMLElement));
  const pauses = new Pauses(byId("pauses", HTMLElement), byId("bound", HTMLSelectElement), state, announce);
  const inspector = new Inspector(byId("pause", HTMLElement), state, announce);
  const selection = new Selection(byId("selection", HTMLElement), state, announce);
  const search = byId("search", HTMLInputElement);
  new Search(search, byId("hits", HTMLElement), state, announce, async (id) => pauses.goTo(await api.pause(id)));

  // --- one frame
  const wanted = { below: false, above: false, size: true };
  let scheduled = false, moved = 0, settled = false;
  /** @param {"below" | "above" | "size"} what */
  function draw(what) {
    wanted[what] = true;
    if (scheduled) return;
    scheduled = true;
    requestAnimationFrame(frame);
  }
  function frame() {
    const began = performance.now();
    scheduled = false;
    if (wanted.size) measure();
    if (wanted.below || wanted.size) {
      const { now, later } = scene.wishes();
      tiles.want([...overview.wishes(), ...now, ...later]);
      scene.drawBelow(look);
      overview.draw(scene.width, look);
      over.ruler(byId("ruler", HTMLCanvasElement), scene, axis(state.view.from, state.view.to, scene.width), look);
      labels.draw(scene.height);
      labels.scales((row) => scene.mostWords(row));
      if (!settled && now.every((wish) => tiles.has(wish))) {
        settled = true;
        performance.mark("rtscope-first-picture");
        document.documentElement.dataset.ready = "";
      }
    }
    scene.drawAbove(look);
    wanted.below = wanted.above = wanted.size = false;
    frames.add(began, performance.now(), began - moved < 100);
  }
  function measure() {
    state.fit(scroller.clientHeight);
    byId("content", HTMLElement).style.height = `${Math.max(state.height, scroller.clientHeight)}px`;
    scene.resize(scroller.clientWidth - byId("labels", HTMLElement).offsetWidth, scroller.clientHeight);
  }
  function lookAgain() {
    look = theme.lookOfPage(session.kinds, probe);
    draw("below");
  }

  // --- connections to events
  let urlTimer = 0;
  function remember() {
    clearTimeout(urlTimer);
    urlTimer = window.setTimeout(() => {
      const whole = state.view.from === 0 && state.view.to === state.span;
      const fragment = link.write({ view: whole ? null : state.view, selection: state.selection, track: state.track, pause: state.pause });
      if (fragment !== location.hash) history.replaceState(null, "", location.pathname + fragment);
    }, 250);
  }
  state.listen((change) => {
    if (change === "view") {
      moved = performance.now();
      draw("below");
    } else if (change === "rows") {
      draw("size");
    } else if (change === "selection") {
      selection.show();
      if (state.selection) panel.open("tab-selection");
      pauses.listSoon();
      draw("below");
    } else if (change === "pause") {
      if (state.pause !== null) panel.open("tab-pause");
      void inspector.show(pauses.shown);
      pauses.mark();
    } else if (change === "cursor") {
      reveal();
      draw("above");
    } else {
      draw("above");
    }
    remember();
  });
  /** Scrolls to the row that keys are at. */
  function reveal() {
    const row = state.rows.find((one) => one.tracks.some((track) => track.id === state.track));
    if (!row) return;
    if (row.y < state.scroll + 4) scroller.scrollTop = Math.max(0, row.y - 30);
    else if (row.y + row.height > state.scroll + scene.height - 4) scroller.scrollTop = row.y + row.height - scene.height + 30;
  }

  // --- what people do
  const pauseTracks = new Set(session.groups.flatMap((group) => group.tracks)
    .filter((track) => track.form === "spans").map((track) => track.id));
  /** Inspects the pause at a moment, where there is one. @param {number} from @param {number} to */
  async function pauseAt(from, to) {
    const [found] = await api.pauses({ from, to: Math.max(to, from + 1), limit: 1 });
    if (found) state.inspect(found.id);
    else announce("no pause there");
  }
  input.listen(stage, state, scene, {
    click(x, y) {
      const spot = hit.spotAt(scene, x, y);
      state.pointAt(spot?.track.id ?? state.track, spot);
      if (!spot) return;
      announce(describe.sentence(state, spot));
      const role = theme.roleOf(state.kind(spot.kind).role);
      const still = !["program", "idle", "asleep", "running", "unknown", "mark"].includes(role);
      if (still && pauseTracks.has(spot.track.id)) pauseAt(scene.at(x), scene.at(x + 1)).catch((error) => announce(words(error)));
    },
    twice(x, y) {
      const spot = hit.spotAt(scene, x, y);
      if (spot) state.show(around(spot.from, spot.to, state.span));
    },
    hover(x, y) {
      bubble.show(x, y);
      state.hoverAt({ at: scene.at(x), y });
    },
    leave() {
      bubble.hide();
      state.hoverAt(null);
    },
  });
  new Keys(stage, state, scene, {
    search: () => search.focus(),
    help: () => help(),
    slow: (direction) => void pauses.slow(direction),
    enter: () => {
      if (state.spot) pauseAt(state.spot.from, state.spot.to).catch((error) => announce(words(error)));
    },
    summary: () => state.select({ ...state.view }),
    stepped: (spot) => {
      const row = state.rows.find((one) => one.tracks.some((track) => track.id === state.track));
      if (spot) announce(describe.sentence(state, spot));
      else if (row?.form === "values") announce(describe.values(hit.valuesAt(scene, row, (state.view.from + state.view.to) / 2)).join(", "));
      else if (state.track !== null) announce(`${state.trackName(state.track)}: nothing there`);
    },
  });
  const middle = () => (state.view.from + state.view.to) / 2;
  const press = (/** @type {string} */ id, /** @type {() => void} */ act) => byId(id, HTMLButtonElement).addEventListener("click", act);
  press("in", () => state.show(zoomed(state.view, 0.5, middle(), state.span)));
  press("out", () => state.show(zoomed(state.view, 2, middle(), state.span)));
  press("whole", () => state.show({ from: 0, to: state.span }));
  press("slow-next", () => void pauses.slow(1));
  press("slow-before", () => void pauses.slow(-1));
  press("help-button", () => help());
  function help() {
    const { frames: seen, between, drawing } = frames.read();
    byId("speed", HTMLElement).textContent = `Clock: ${session.clock}. A frame takes ${drawing.middle.toFixed(1)} ms to draw`
      + (seen > 5 ? `, and ${(1000 / Math.max(1, between.middle)).toFixed(0)} a second come while it moves.` : ".");
    byId("help", HTMLDialogElement).showModal();
  }
  rulerInput(state, scene);

  // --- the surroundings
  const choice = byId("theme", HTMLSelectElement);
  choice.value = theme.chosen();
  choice.addEventListener("change", () => {
    theme.choose(/** @type {theme.Choice} */ (choice.value));
    lookAgain();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", lookAgain);
  scroller.addEventListener("scroll", () => {
    state.scroll = scroller.scrollTop;
    moved = performance.now();
    draw("below");
  }, { passive: true });
  new ResizeObserver(() => draw("size")).observe(scroller);
  new ResizeObserver(() => inspector.fit()).observe(byId("pause", HTMLElement));

  // --- what the link says, and the texts
  function follow() {
    const { view, selection: chosen, track, pause } = link.read(location.hash);
    if (view) state.show(view);
    if (chosen) state.select(chosen);
    if (track !== null) {
      const place = state.trackOf(track);
      if (place && state.closed.has(place.group)) state.close([place.group], false);
      if (place) state.pointAt(track);
    }
    if (pause !== null) state.inspect(pause);
  }
  title(session);
  legend.show(byId("legend", HTMLElement), session);
  findings.show(byId("findings", HTMLElement), state);
  byId("figures", HTMLElement).replaceChildren(...session.sections.flatMap(present.section));
  findings.showMissing(byId("missing", HTMLElement), state);
  byId("tab-missing", HTMLElement).classList.toggle("some", session.missing.length + session.gaps.length > 0);
  void inspector.show();
  selection.show();
  void pauses.list();
  if (session.findings.length === 0) panel.open("tab-pauses");
  follow();
  window.addEventListener("hashchange", follow);
  api.report().then((report) => {
    pauses.use(report);
    byId("count", HTMLElement).textContent = summed(report) ?? "";
  }).catch((error) => announce(words(error)));
  draw("size");
}

/**
 * Wheel, drag and click on the axis: it zooms and moves, its marks are findings.
 * @param {State} state
 * @param {Scene} scene
 */
function rulerInput(state, scene) {
  const ruler = byId("ruler", HTMLCanvasElement);
  /** @type {{x: number, view: import("./types").Interval, far: boolean} | null} */
  let press = null;
  const place = (/** @type {MouseEvent} */ event) => event.clientX - ruler.getBoundingClientRect().left;
  ruler.addEventListener("wheel", (event) => input.wheel(event, state, scene, place(event), true), { passive: false });
  ruler.addEventListener("pointerdown", (event) => {
    press = { x: place(event), view: state.view, far: false };
    ruler.setPointerCapture(event.pointerId);
  });
  ruler.addEventListener("pointermove", (event) => {
    const marked = markAt(state, scene, place(event), event.clientY - ruler.getBoundingClientRect().top);
    ruler.title = marked ? clean(marked.claim) : "";
    if (!press) return;
    press.far ||= Math.abs(place(event) - press.x) > 3;
    const perPixel = (press.view.to - press.view.from) / scene.width;
    if (press.far) state.show(panned(press.view, (press.x - place(event)) * perPixel, state.span));
  });
  ruler.addEventListener("pointerup", (event) => {
    const marked = press && !press.far && markAt(state, scene, place(event), event.clientY - ruler.getBoundingClientRect().top);
    if (marked) findings.goTo(state, marked);
    press = null;
  });
}

/**
 * The finding whose mark is there.
 * @param {State} state
 * @param {Scene} scene
 * @param {number} x
 * @param {number} y
 */
function markAt(state, scene, x, y) {
  if (y < 25) return null;
  const { half } = over.MARK;
  const at = (/** @type {number} */ ns) => Math.min(Math.max(scene.x(ns), half), scene.width - half);
  return state.session.findings.find((one) => one.at_ns !== null && Math.abs(at(one.at_ns) - x) <= half + 2
    && scene.x(one.to_ns ?? one.at_ns) >= -half && scene.x(one.at_ns) <= scene.width + half) ?? null;
}

/** @param {import("./types").Session} session */
function title(session) {
  document.title = `${clean(session.title)} - rtscope`;
  byId("title", HTMLElement).textContent = clean(session.title);
  const facts = [session.runtime, `${duration(session.span_ns)} recorded`];
  byId("facts", HTMLElement).replaceChildren(...facts.filter(Boolean).map((fact) => el("span", {}, clean(fact ?? ""))));
}
