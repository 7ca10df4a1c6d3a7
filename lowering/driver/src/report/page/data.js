/**
 * The report's JSON (docs/schemas/report.json), as far as the page draws it.
 *
 * @typedef {{ name: string, lines: string[] }} SourceText
 * @typedef {{ word: number, text: string, source?: [number, number] }} SpirvLine
 * @typedef {{ text: string, word?: number, note?: string }} PlanLine
 * @typedef {{ text: string, word?: number, part?: string, note?: string }} AsmLine
 * @typedef {{ workgroup: number, wave: number }} Track
 * @typedef {{ issue: number, memory: number, barrier: number, sleep: number }} Spent
 * @typedef {{
 *   until: number, tracks: Track[], kinds: string[], slices: number[], completions: number[],
 *   loads: number[], waves: number[], spent: Spent, cut_off: number | null,
 * }} Timeline
 * @typedef {{
 *   version: string, plan: PlanLine[], windows: { pair: number, words: number[] }[],
 *   assembly: AsmLine[], timeline: Timeline | null,
 * }} Shown
 * @typedef {{ entry: string, target: string, code: string, shown: Shown[] }} Result
 * @typedef {{ source: SourceText[], spirv: SpirvLine[], results: Result[] }} Report
 */

/**
 * Reads the report that the page contains.
 *
 * @returns {Report}
 */
export function readReport() {
  return JSON.parse(byId("report").textContent ?? "");
}

/**
 * The element with this id.
 *
 * @param {string} id
 * @returns {HTMLElement}
 */
export function byId(id) {
  const element = document.getElementById(id);
  if (element === null) {
    throw new Error(`the page has no element ${id}`);
  }
  return element;
}

/**
 * Makes an element. Its text is never read as markup.
 *
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {{ class?: string, text?: string, attributes?: Record<string, string> }} [given]
 * @param {Node[]} [children]
 * @returns {HTMLElementTagNameMap[K]}
 */
export function make(tag, given = {}, children = []) {
  const element = document.createElement(tag);
  if (given.class !== undefined) {
    element.className = given.class;
  }
  if (given.text !== undefined) {
    element.textContent = given.text;
  }
  for (const [name, value] of Object.entries(given.attributes ?? {})) {
    element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}
