// Questions to the server. Everything lies below the page's own address, which has the token in it.

/** @typedef {import("./types").Session} Session */
/** @typedef {import("./types").Pause} Pause */
/** @typedef {import("./types").Summary} Summary */
/** @typedef {import("./types").Found} Found */
/** @typedef {import("./types").Form} Form */
/** @typedef {import("./types").Tree} Tree */

/**
 * @param {string} path
 * @param {AbortSignal} [signal]
 */
async function get(path, signal) {
  const answer = await fetch(path, { credentials: "omit", cache: "no-store", signal }).catch((error) => {
    if (signal?.aborted) throw error;
    throw new Error("rtscope does not answer: has it ended?");
  });
  if (!answer.ok) throw new Error(`${answer.status}: ${(await answer.text()).slice(0, 300) || answer.statusText}`);
  return answer;
}

/** @returns {Promise<Session>} */
export async function session() {
  return (await get("session.json")).json();
}

/** The figures of `rtscope report --json`. @returns {Promise<any>} */
export async function report() {
  return (await get("report.json")).json();
}

/**
 * Tiles of one level: `want` is TRACK.TILE,…
 * @param {Form} form
 * @param {number} level
 * @param {string} want
 */
export async function tiles(form, level, want) {
  return (await get(`${form === "values" ? "lines" : "tiles"}?level=${level}&want=${want}`)).arrayBuffer();
}

/**
 * Pauses that touch an interval, longest first, or in the order of time.
 * @param {object} of
 * @param {number} of.from
 * @param {number} of.to
 * @param {number} [of.min] nanoseconds
 * @param {number} [of.limit]
 * @param {"longest" | "first" | "last"} [of.order]
 * @param {AbortSignal} [signal]
 * @returns {Promise<Pause[]>}
 */
export async function pauses({ from, to, min = 0, limit = 50, order = "longest" }, signal) {
  const text = await (await get(`pauses?from=${Math.floor(from)}&to=${Math.ceil(to)}&min=${Math.floor(min)}&limit=${limit}&order=${order}`, signal)).text();
  return text.split("\n").filter(Boolean).map((line) => JSON.parse(line));
}

/**
 * @param {number} id
 * @param {AbortSignal} [signal]
 * @returns {Promise<Pause>}
 */
export async function pause(id, signal) {
  return (await get(`pause?id=${id}`, signal)).json();
}

/**
 * What of an interval is whose.
 * @param {number} from
 * @param {number} to
 * @param {number[]} tracks
 * @param {AbortSignal} [signal]
 * @returns {Promise<Summary>}
 */
export async function summary(from, to, tracks, signal) {
  return (await get(`summary?from=${Math.floor(from)}&to=${Math.ceil(to)}&tracks=${tracks.join(",")}`, signal)).json();
}

/**
 * Where the time of all lanes went in an interval.
 * @param {number} from
 * @param {number} to
 * @param {AbortSignal} [signal]
 * @returns {Promise<Tree>}
 */
export async function account(from, to, signal) {
  return (await get(`account?from=${Math.floor(from)}&to=${Math.ceil(to)}`, signal)).json();
}

/**
 * The longest spans of a kind, or with a detail.
 * @param {{kind?: number, detail?: number}} what
 * @param {number[]} tracks
 * @param {AbortSignal} [signal]
 * @returns {Promise<Found[]>}
 */
export async function find({ kind, detail }, tracks, signal) {
  const what = kind !== undefined ? `kind=${kind}` : `detail=${detail}`;
  return (await get(`find?${what}&tracks=${tracks.join(",")}`, signal)).json();
}
