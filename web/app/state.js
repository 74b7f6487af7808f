// What the page shows now, and the listeners to its changes. Owns no element.

import { closedAtFirst, fitted } from "./layout.js";
import { within } from "./view.js";

/** @typedef {import("./types").Session} Session */
/** @typedef {import("./types").Interval} Interval */
/** @typedef {import("./types").Row} Row */
/** @typedef {import("./types").Spot} Spot */

/** @typedef {"view" | "rows" | "selection" | "cursor" | "pause" | "look" | "tiles" | "hover"} Change */

export class State {
  /** @param {Session} session */
  constructor(session) {
    this.session = session;
    this.span = Math.max(1, session.span_ns);
    /** @type {Interval} */
    this.view = { from: 0, to: this.span };
    /** @type {Interval | null} */
    this.selection = null;
    /** The track that keys act on. @type {number | null} */
    this.track = null;
    /** The span that keys are at. @type {Spot | null} */
    this.spot = null;
    /** @type {number | null} */
    this.pause = null;
    /** Moments of the pause that is inspected: request, stopped, collected, released. @type {number[]} */
    this.moments = [];
    /** Where the pointer is. @type {{at: number, y: number} | null} */
    this.hover = null;
    this.closed = closedAtFirst(session.groups);
    /** @type {Row[]} */
    this.rows = [];
    this.height = 0;
    /** Height of the screen for them, CSS pixels. */
    this.room = 0;
    this.scroll = 0;
    /** @type {((change: Change) => void)[]} */
    this.listeners = [];
    this.#lay();
  }

  /** @param {(change: Change) => void} listener */
  listen(listener) {
    this.listeners.push(listener);
  }

  /** @param {Change} change */
  changed(change) {
    for (const listener of this.listeners) listener(change);
  }

  #lay() {
    ({ rows: this.rows, height: this.height } = fitted(this.session.groups, this.closed, this.room));
  }

  /** @param {number} room */
  fit(room) {
    if (room === this.room) return;
    this.room = room;
    this.#lay();
  }

  /** @param {Interval} view */
  show(view) {
    const next = within(view, this.span);
    if (next.from === this.view.from && next.to === this.view.to) return;
    this.view = next;
    this.changed("view");
  }

  /** @param {Interval | null} selection */
  select(selection) {
    this.selection = selection && {
      from: Math.max(0, Math.min(selection.from, selection.to)),
      to: Math.min(this.span, Math.max(selection.from, selection.to)),
    };
    this.changed("selection");
  }

  /**
   * @param {number | null} track
   * @param {Spot | null} [spot]
   */
  pointAt(track, spot = null) {
    this.track = track;
    this.spot = spot;
    this.changed("cursor");
  }

  /** @param {number | null} pause */
  inspect(pause) {
    this.pause = pause;
    this.changed("pause");
  }

  /** @param {number[]} moments */
  mark(moments) {
    this.moments = moments;
    this.changed("hover");
  }

  /**
   * @param {number[]} groups
   * @param {boolean} closed
   */
  close(groups, closed) {
    for (const group of groups) {
      if (closed) this.closed.add(group);
      else this.closed.delete(group);
    }
    this.#lay();
    this.changed("rows");
  }

  /** @param {{at: number, y: number} | null} hover */
  hoverAt(hover) {
    this.hover = hover;
    this.changed("hover");
  }

  /**
   * The track of that number with its group; null: the session has none.
   * @param {number | null} id
   */
  trackOf(id) {
    for (const [group, { tracks }] of this.session.groups.entries()) {
      const track = tracks.find((one) => one.id === id);
      if (track) return { track, group };
    }
    return null;
  }

  /** @param {number} id */
  kind(id) {
    return this.session.kinds.find((kind) => kind.id === id) ?? { id, name: id === 0xffff ? "several others" : "not known", role: "other" };
  }

  /** @param {number} id */
  trackName(id) {
    const found = this.trackOf(id);
    if (!found) return `track ${id}`;
    const group = this.session.groups[found.group];
    return group.tracks[0] === found.track ? group.name : `${group.name}, ${found.track.name}`;
  }
}
