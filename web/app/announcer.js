// What screen readers read out, which is also the line at the foot of the page.

export class Announcer {
  /**
   * @param {HTMLElement} line an aria-live region
   */
  constructor(line) {
    this.line = line;
    /** @type {number | undefined} */
    this.timer = undefined;
  }

  /**
   * Says it once things are still: keys that repeat would be read one after the other.
   * @param {string} text
   */
  announce(text) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => { this.line.textContent = text; }, 120);
  }
}
