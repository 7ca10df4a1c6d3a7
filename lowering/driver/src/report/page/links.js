/**
 * Lines that belong together: a line of the source, the instructions of SPIR-V that it became, the
 * steps of the plan and the machine instructions that these became.
 *
 * @typedef {{ element: HTMLElement, word?: number, source?: string }} Row
 */

/** The rows of all panes, and which of them are linked. */
export class Links {
  constructor() {
    /**
     * @type {Row[]}
     */
    this.rows = [];
    /**
     * Words of each source line.
     *
     * @type {Map<string, Set<number>>}
     */
    this.words = new Map();
    /**
     * The source line of each word.
     *
     * @type {Map<number, string>}
     */
    this.sources = new Map();
  }

  /**
   * Records that the instruction at a word came from a source line.
   *
   * @param {number} word
   * @param {string} source
   */
  join(word, source) {
    const words = this.words.get(source) ?? new Set();
    words.add(word);
    this.words.set(source, words);
    this.sources.set(word, source);
  }

  /**
   * Adds a row.
   *
   * @param {Row} row
   */
  add(row) {
    this.rows.push(row);
  }

  /** Forgets all rows; which word belongs to which line stays. */
  clear() {
    this.rows = [];
  }

  /**
   * The rows that belong to this one, itself included.
   *
   * @param {{ word?: number, source?: string }} of
   * @returns {Row[]}
   */
  of({ word, source }) {
    const line = source ?? (word === undefined ? undefined : this.sources.get(word));
    const words = word !== undefined ? new Set([word]) : this.words.get(line ?? "") ?? new Set();
    return this.rows.filter(
      (row) =>
        (row.word !== undefined && words.has(row.word)) ||
        (row.source !== undefined && row.source === line),
    );
  }

  /**
   * Gives a class to the rows that belong to this one, and takes it from all others.
   *
   * @param {{ word?: number, source?: string } | null} of
   * @param {string} name
   * @returns {Row[]}
   */
  mark(of, name) {
    const marked = of === null ? [] : this.of(of);
    const wanted = new Set(marked.map((row) => row.element));
    for (const row of this.rows) {
      const { classList } = row.element;
      if (classList.contains(name) !== wanted.has(row.element)) {
        classList.toggle(name);
      }
    }
    return marked;
  }
}
