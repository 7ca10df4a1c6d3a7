import { byId, make, readReport } from "./data.js";
import { Links } from "./links.js";
import { Pane } from "./panes.js";
import { TimelineView } from "./timeline.js";

/** @typedef {import("./data.js").Report} Report */
/** @typedef {import("./data.js").Shown} Shown */
/** @typedef {import("./panes.js").Line} Line */

/**
 * The name of a source line.
 *
 * @param {number} file
 * @param {number} line
 * @returns {string}
 */
function sourceKey(file, line) {
  return `${file}:${line}`;
}

/**
 * @param {Report} report
 * @returns {Line[]}
 */
function sourceLines(report) {
  return report.source.flatMap((file, index) => [
    { number: "", text: file.name, title: true },
    ...file.lines.map((text, line) => ({
      number: String(line + 1),
      text,
      source: sourceKey(index, line + 1),
    })),
  ]);
}

/**
 * The plan, each barrier with its steps, then the module's instructions.
 *
 * @param {Shown} shown
 * @returns {Line[]}
 */
function planLines(shown) {
  return shown.plan.map(({ text, word, note }) => ({
    number: word === undefined ? "" : String(word),
    text,
    word,
    note,
    part: partOfStep(text),
  }));
}

/**
 * @param {string} text
 * @returns {string | undefined}
 */
function partOfStep(text) {
  const found = /^ {2}#\d+ (arrive|wait|barrier)/.exec(text);
  return found?.[1] === "barrier" ? "full" : found?.[1];
}

/**
 * @param {Report} report
 * @param {Shown} shown
 * @returns {Line[]}
 */
function spirvLines(report, shown) {
  const inside = new Set(shown.windows.flatMap((window) => window.words));
  const barriers = new Map(
    shown.plan.flatMap(({ text, word }) => (word === undefined ? [] : [[word, partOfStep(text)]])),
  );
  return report.spirv.map(({ word, text }) => ({
    number: String(word),
    text,
    word,
    part: barriers.get(word) ?? (inside.has(word) ? "window" : undefined),
  }));
}

/**
 * @param {Shown} shown
 * @returns {Line[]}
 */
function assemblyLines(shown) {
  return shown.assembly.map(({ text, word, part, note }) => ({
    number: word === undefined ? "" : String(word),
    text,
    word,
    part,
    note,
  }));
}

/** The viewer of code and timeline. */
class Viewer {
  /**
   * @param {Report} report
   */
  constructor(report) {
    this.report = report;
    this.links = new Links();
    for (const { word, source } of report.spirv) {
      if (source !== undefined) {
        this.links.join(word, sourceKey(source[0], source[1]));
      }
    }
    /**
     * @type {Pane[]}
     */
    this.panes = [];
    /**
     * @type {TimelineView | null}
     */
    this.timeline = null;
    this.choice = make("select", { attributes: { id: "choice" } });
    report.results.forEach((result, index) => {
      result.shown.forEach((shown, version) => {
        const text = `${result.entry} on ${result.target}: ${shown.version}`;
        this.choice.append(make("option", { text, attributes: { value: `${index} ${version}` } }));
      });
    });
    this.choice.addEventListener("change", () => this.show());
    this.box = make("div", { class: "panes" });
    const label = make("label", { text: "Kernel, GPU and version: " }, [this.choice]);
    const parts = ["arrive", "window", "wait", "full"].map((part) =>
      make("span", { class: `key ${part}`, text: part === "full" ? "full barrier" : part }),
    );
    const hint = make("p", {
      class: "hint",
      text: "Click a line, or press Enter on it, to see the lines that belong to it. Numbers are source lines, and words of the SPIR-V module.",
    });
    byId("viewer").append(make("div", { class: "controls" }, [label, ...parts]), hint, this.box);
    window.addEventListener("resize", () => this.timeline?.draw());
    window.addEventListener("beforeprint", () => this.timeline?.draw(true));
    window.addEventListener("afterprint", () => this.timeline?.draw());
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.show());
  }

  /** Shows what is chosen. */
  show() {
    const [index = 0, version = 0] = this.choice.value.split(" ").map(Number);
    const shown = this.report.results[index]?.shown[version];
    if (shown === undefined) {
      return;
    }
    this.links.clear();
    const select = (/** @type {Line} */ line) => this.select(line);
    /**
     * @type {[string, Line[]][]}
     */
    const lists = [
      ["Source", sourceLines(this.report)],
      ["SPIR-V", spirvLines(this.report, shown)],
      ["Plan", planLines(shown)],
      ["Assembly", assemblyLines(shown)],
    ];
    const filled = lists.filter(([, lines]) => lines.length > 0);
    this.panes = filled.map(([name, lines]) => new Pane(name, lines, this.links, select));
    this.box.replaceChildren(...this.panes.map((pane) => pane.element));
    this.timeline =
      shown.timeline === null
        ? null
        : new TimelineView(shown.timeline, (word) => this.select({ word }));
    const none = make("p", { text: 'There is no timeline: see the section "Not examined".' });
    byId("timeline").replaceChildren(this.timeline?.element ?? none);
    this.timeline?.draw();
    this.first();
  }

  /** Shows the first barrier, so that a reader begins with it. */
  first() {
    const assembly = this.panes[this.panes.length - 1];
    const at = assembly?.lines.findIndex((line) => line.part !== undefined) ?? -1;
    assembly?.activate(at, false);
    const line = assembly?.lines[at];
    if (line === undefined) {
      return;
    }
    const elements = new Set(this.links.of(line).map((row) => row.element));
    for (const pane of this.panes.slice(0, -1)) {
      pane.reveal(elements);
    }
  }

  /**
   * Selects a line, and shows what belongs to it in all panes.
   *
   * @param {{ word?: number, source?: string }} line
   */
  select(line) {
    const linked = this.links.mark(line, "linked");
    const elements = new Set(linked.map((row) => row.element));
    for (const pane of this.panes) {
      pane.show(elements);
    }
    this.timeline?.mark(line.word);
  }
}

/** Draws what needs scripts. */
export function start() {
  new Viewer(readReport()).show();
}
