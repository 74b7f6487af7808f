// The side: tabs, of which one is open. Arrows go from tab to tab, as in any list of tabs.

export class Panel {
  /** @param {HTMLElement} aside holds a tablist and the panels that its tabs control */
  constructor(aside) {
    this.aside = aside;
    this.tabs = [...aside.querySelectorAll('[role="tab"]')].filter((tab) => tab instanceof HTMLButtonElement);
    for (const tab of this.tabs) tab.addEventListener("click", () => this.open(tab.id));
    aside.querySelector('[role="tablist"]')?.addEventListener("keydown", (event) => {
      if (event instanceof KeyboardEvent) this.#key(event);
    });
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const shown = this.tabs.filter((tab) => !tab.hidden), now = shown.findIndex((tab) => tab === document.activeElement);
    /** @type {Record<string, number>} */
    const moves = { ArrowRight: now + 1, ArrowLeft: now - 1, Home: 0, End: shown.length - 1 };
    const next = moves[event.key];
    if (next === undefined || now < 0) return;
    const tab = shown[(next + shown.length) % shown.length];
    this.open(tab.id);
    tab.focus();
    event.preventDefault();
    event.stopPropagation();
  }

  /** Which is open. */
  get current() {
    return this.tabs.find((tab) => tab.getAttribute("aria-selected") === "true")?.id ?? null;
  }

  /** @param {string} id of the tab */
  open(id) {
    for (const tab of this.tabs) {
      const chosen = tab.id === id;
      tab.setAttribute("aria-selected", String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
      const panel = document.getElementById(tab.getAttribute("aria-controls") ?? "");
      if (panel) panel.hidden = !chosen;
    }
  }
}
