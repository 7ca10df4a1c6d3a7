import { COUNTER_HEIGHT, countersOf, drawCounter, most, numberAt } from "./counters.js";
import { make } from "./data.js";

/** Pixels of a wave. */
const HEIGHT = 18;

/** Pixels of the scale above the waves. */
const SCALE = 22;

/** Pixels of the names of the waves. */
const MARGIN = 92;

/** The fewest cycles that are shown. */
const LEAST = 20;

/**
 * Colours of kinds of slices: in the light and in the dark scheme.
 *
 * @type {Record<string, [string, string]>}
 */
const COLOURS = {
  window: ["#bfe6c8", "#24502f"],
  arrive: ["#f0a030", "#d98c1f"],
  wait: ["#f3b0a9", "#6e2c27"],
  "full barrier": ["#e3a8de", "#6a336a"],
  issue: ["#2f74c0", "#6aa5e8"],
  memory: ["#8a6bbf", "#a78bdc"],
  "waiting at a barrier": ["#c8332b", "#ee6a60"],
  sleep: ["#9aa3ad", "#6d7681"],
};

/** The kinds of slices whose colours the counters of loads and of waves have. */
const COUNTERS = ["memory", "sleep"];

/** Colours of text and lines on paper, whatever the scheme of the screen is. */
const PAPER = { text: "#1b1f24", line: "#d0d5dc" };

/** Spans of barriers, which are drawn as the background of the others. */
const SPANS = new Set(["window", "arrive", "wait", "full barrier"]);

/** @typedef {import("./data.js").Timeline} Timeline */

/** The timeline of an estimate: a line for each wave, with zoom and pan. */
export class TimelineView {
  /**
   * @param {Timeline} timeline
   * @param {(word: number) => void} select
   */
  constructor(timeline, select) {
    this.timeline = timeline;
    this.select = select;
    this.counters = countersOf(timeline);
    /** Pixels above the waves. */
    this.top = SCALE + COUNTER_HEIGHT * this.counters.length;
    this.from = 0;
    this.until = Math.max(timeline.until, LEAST);
    /**
     * @type {number | null}
     */
    this.word = null;
    /**
     * The slices of each wave, as places in `slices`.
     *
     * @type {number[][]}
     */
    this.tracks = timeline.tracks.map(() => []);
    for (let at = 0; at < timeline.slices.length; at += 5) {
      this.tracks[timeline.slices[at] ?? 0]?.push(at);
    }
    this.canvas = make("canvas", {
      attributes: {
        tabindex: "0",
        role: "img",
        "aria-label":
          "Timeline of the waves. Plus and minus zoom, arrow keys pan, 0 shows everything. The text below says how waves spend their time.",
      },
    });
    this.range = make("span", { class: "facts", attributes: { id: "timeline-range" } });
    this.status = make("p", { class: "status", attributes: { id: "timeline-status" } });
    const button = (/** @type {string} */ text, /** @type {string} */ name, /** @type {() => void} */ act) => {
      const element = make("button", { text, attributes: { type: "button", "aria-label": name } });
      element.addEventListener("click", act);
      return element;
    };
    const controls = make("div", { class: "controls" }, [
      button("+", "Zoom in", () => this.zoom(0.5)),
      button("\u2212", "Zoom out", () => this.zoom(2)),
      button("\u25c0", "Earlier", () => this.pan(-0.25)),
      button("\u25b6", "Later", () => this.pan(0.25)),
      button("All", "Show everything", () => this.reset()),
      this.range,
    ]);
    this.element = make("div", {}, [
      controls,
      keys(),
      make("div", { class: "canvas-box" }, [this.canvas]),
      this.status,
    ]);
    this.listen();
  }

  listen() {
    const { canvas } = this;
    canvas.addEventListener("keydown", (event) => this.key(event));
    canvas.addEventListener(
      "wheel",
      (event) => {
        if (event.ctrlKey || event.shiftKey || event.altKey) {
          event.preventDefault();
          this.zoom(event.deltaY > 0 || event.deltaX > 0 ? 1.25 : 0.8, this.cycleAt(event.offsetX));
        }
      },
      { passive: false },
    );
    /**
     * @type {{ x: number, from: number, until: number, moved: boolean } | null}
     */
    let drag = null;
    canvas.addEventListener("pointerdown", (event) => {
      drag = { x: event.offsetX, from: this.from, until: this.until, moved: false };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (drag === null) {
        this.point(event.offsetX, event.offsetY);
        return;
      }
      drag.moved ||= Math.abs(event.offsetX - drag.x) > 3;
      const cycles = ((drag.x - event.offsetX) * (drag.until - drag.from)) / this.width();
      this.show(drag.from + cycles, drag.until + cycles);
    });
    canvas.addEventListener("pointerup", (event) => {
      const at = drag !== null && !drag.moved ? this.sliceAt(event.offsetX, event.offsetY) : null;
      drag = null;
      const word = at === null ? 0 : this.timeline.slices[at + 4] ?? 0;
      if (word > 0) {
        this.select(word - 1);
      }
    });
    canvas.addEventListener("pointercancel", () => {
      drag = null;
    });
    canvas.addEventListener("dblclick", (event) => this.zoom(0.5, this.cycleAt(event.offsetX)));
  }

  /**
   * @param {KeyboardEvent} event
   */
  key(event) {
    /**
     * @type {Record<string, () => void>}
     */
    const actions = {
      "+": () => this.zoom(0.5),
      "=": () => this.zoom(0.5),
      "-": () => this.zoom(2),
      ArrowLeft: () => this.pan(-0.25),
      ArrowRight: () => this.pan(0.25),
      0: () => this.reset(),
      Home: () => this.show(0, this.until - this.from),
      End: () => this.show(Infinity, Infinity),
    };
    const action = actions[event.key];
    if (action !== undefined) {
      action();
      event.preventDefault();
    }
  }

  /** Pixels of the cycles. */
  width() {
    return Math.max(this.canvas.clientWidth - MARGIN, 1);
  }

  /**
   * @param {number} x
   * @returns {number}
   */
  cycleAt(x) {
    return this.from + ((x - MARGIN) * (this.until - this.from)) / this.width();
  }

  /**
   * @param {number} factor
   * @param {number} [around]
   */
  zoom(factor, around = (this.from + this.until) / 2) {
    this.show(around - (around - this.from) * factor, around + (this.until - around) * factor);
  }

  /**
   * @param {number} part
   */
  pan(part) {
    const by = part * (this.until - this.from);
    this.show(this.from + by, this.until + by);
  }

  reset() {
    this.show(0, this.timeline.until);
  }

  /**
   * Shows these cycles, as far as they exist.
   *
   * @param {number} from
   * @param {number} until
   */
  show(from, until) {
    const all = Math.max(this.timeline.until, LEAST);
    const asked = Number.isFinite(until - from) ? until - from : this.until - this.from;
    const length = Math.min(Math.max(asked, LEAST), all);
    this.from = Math.min(Math.max(Number.isFinite(from) ? from : all, 0), all - length);
    this.until = this.from + length;
    this.draw();
  }

  /**
   * Marks the slices of an instruction.
   *
   * @param {number | undefined} word
   */
  mark(word) {
    this.word = word ?? null;
    this.draw();
  }

  /**
   * The innermost slice at a point.
   *
   * @param {number} x
   * @param {number} y
   * @returns {number | null}
   */
  sliceAt(x, y) {
    const track = this.tracks[Math.floor((y - this.top) / HEIGHT)];
    const cycle = this.cycleAt(x);
    if (track === undefined || x < MARGIN) {
      return null;
    }
    let found = null;
    for (const at of track) {
      const [from, length] = [this.timeline.slices[at + 1] ?? 0, this.timeline.slices[at + 2] ?? 0];
      const isInside = from <= cycle && cycle < from + length;
      if (isInside && (found === null || !SPANS.has(this.kind(at)))) {
        found = at;
      }
    }
    return found;
  }

  /**
   * @param {number} at
   * @returns {string}
   */
  kind(at) {
    return this.timeline.kinds[this.timeline.slices[at + 3] ?? 0] ?? "";
  }

  /**
   * Describes the counter or the slice at a point.
   *
   * @param {number} x
   * @param {number} y
   */
  point(x, y) {
    const counter = this.counters[Math.floor((y - SCALE) / COUNTER_HEIGHT)];
    if (y < SCALE || counter === undefined || x < MARGIN) {
      this.describe(this.sliceAt(x, y));
      return;
    }
    const cycle = Math.floor(this.cycleAt(x));
    const { description } = counter;
    this.status.textContent = `${description} around cycle ${cycle}: ${numberAt(counter, cycle)}, at most ${most(counter)}`;
  }

  /**
   * @param {number | null} at
   */
  describe(at) {
    const { slices, tracks } = this.timeline;
    if (at === null) {
      this.status.textContent = summary(this.timeline);
      return;
    }
    const [track, from, length, , word] = slices.slice(at, at + 5);
    const wave = tracks[track ?? 0];
    const origin = word !== undefined && word > 0 ? `, SPIR-V word ${word - 1}; click shows it` : "";
    this.status.textContent = `${this.kind(at)}: workgroup ${wave?.workgroup} wave ${wave?.wave}, cycles ${from} to ${(from ?? 0) + (length ?? 0)} (${length})${origin}`;
  }

  /**
   * Draws what is shown, for paper in the light scheme.
   *
   * @param {boolean} [isPaper]
   */
  draw(isPaper = false) {
    const { canvas, timeline } = this;
    const context = canvas.getContext("2d");
    const [width, height] = [canvas.clientWidth, this.top + HEIGHT * timeline.tracks.length + 4];
    if (context === null || width === 0) {
      return;
    }
    const density = window.devicePixelRatio || 1;
    canvas.style.height = `${height}px`;
    canvas.width = Math.round(width * density);
    canvas.height = Math.round(height * density);
    context.scale(density, density);
    const style = getComputedStyle(document.documentElement);
    const text = isPaper ? PAPER.text : style.getPropertyValue("--text").trim();
    const line = isPaper ? PAPER.line : style.getPropertyValue("--line").trim();
    const isDark = !isPaper && window.matchMedia("(prefers-color-scheme: dark)").matches;
    const scheme = isDark ? 1 : 0;
    this.scale(context, width, height, text, line);
    context.font = "12px sans-serif";
    const [left, right, until] = [MARGIN, width, timeline.until];
    const x = (/** @type {number} */ cycle) => this.x(cycle);
    this.counters.forEach((counter, index) => {
      const y = SCALE + index * COUNTER_HEIGHT;
      context.fillStyle = text;
      context.fillText(`${counter.name} (\u2264 ${most(counter)})`, 4, y + 19, MARGIN - 8);
      const colour = COLOURS[COUNTERS[index] ?? ""]?.[scheme] ?? "gray";
      drawCounter(context, counter, { y, left, right, until, x }, colour);
    });
    timeline.tracks.forEach((track, index) => {
      const y = this.top + index * HEIGHT;
      context.fillStyle = text;
      context.fillText(`group ${track.workgroup} wave ${track.wave}`, 4, y + 13, MARGIN - 8);
      this.wave(context, index, y, scheme);
    });
    this.flows(context, text);
    const round = (/** @type {number} */ cycle) => Math.round(cycle).toString();
    this.range.textContent = `cycles ${round(this.from)} to ${round(this.until)} of ${timeline.until}`;
    this.describe(null);
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {number} width
   * @param {number} height
   * @param {string} text
   * @param {string} line
   */
  scale(context, width, height, text, line) {
    const cycles = this.until - this.from;
    const rough = (cycles * 90) / Math.max(width - MARGIN, 1);
    const power = 10 ** Math.floor(Math.log10(Math.max(rough, 1)));
    const step = power * ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10);
    context.font = "11px sans-serif";
    for (let cycle = Math.ceil(this.from / step) * step; cycle <= this.until; cycle += step) {
      const x = this.x(cycle);
      context.fillStyle = line;
      context.fillRect(x, 14, 1, height);
      context.fillStyle = text;
      context.fillText(String(cycle), Math.min(x + 2, width - 40), 11);
    }
  }

  /**
   * @param {number} cycle
   * @returns {number}
   */
  x(cycle) {
    return MARGIN + ((cycle - this.from) * this.width()) / (this.until - this.from);
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {number} index
   * @param {number} y
   * @param {number} scheme
   */
  wave(context, index, y, scheme) {
    const { slices } = this.timeline;
    for (const spans of [true, false]) {
      for (const at of this.tracks[index] ?? []) {
        const kind = this.kind(at);
        const [from, length] = [slices[at + 1] ?? 0, slices[at + 2] ?? 0];
        const [left, right] = [Math.max(this.x(from), MARGIN), this.x(from + length)];
        if (SPANS.has(kind) !== spans || right < MARGIN || from > this.until) {
          continue;
        }
        context.fillStyle = COLOURS[kind]?.[scheme] ?? "gray";
        const isMarked = this.word !== null && slices[at + 4] === this.word + 1;
        const [top, high] = spans ? [y + 1, HEIGHT - 2] : [y + 5, HEIGHT - 10];
        context.fillRect(left, isMarked ? y : top, Math.max(right - left, 0.7), isMarked ? HEIGHT : high);
      }
    }
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {string} colour
   */
  flows(context, colour) {
    const { completions } = this.timeline;
    context.strokeStyle = colour;
    context.lineWidth = 0.7;
    const middle = (/** @type {number} */ track) => this.top + track * HEIGHT + HEIGHT / 2;
    // With more cycles the lines would hide the slices.
    if (this.until - this.from > 2000) {
      return;
    }
    for (let at = 0; at < completions.length; at += 4) {
      const [track = 0, from = 0, other = 0, to = 0] = completions.slice(at, at + 4);
      if (to >= this.from && from <= this.until && this.x(from) >= MARGIN) {
        context.beginPath();
        context.moveTo(this.x(from), middle(track));
        context.lineTo(this.x(to), middle(other));
        context.stroke();
      }
    }
  }
}

/**
 * How waves spend their time, in a sentence.
 *
 * @param {Timeline} timeline
 * @returns {string}
 */
function summary({ spent, cut_off }) {
  const total = Math.max(spent.issue + spent.memory + spent.barrier + spent.sleep, 1);
  const share = (/** @type {number} */ cycles) => `${Math.round((100 * cycles) / total)} %`;
  const cut = cut_off === null ? "" : ` The timeline ends at cycle ${cut_off}.`;
  return `Of their time, waves issue for ${share(spent.issue)}, wait for memory for ${share(spent.memory)}, wait at barriers for ${share(spent.barrier)} and sleep for ${share(spent.sleep)}.${cut}`;
}

/**
 * The meaning of the colours.
 *
 * @returns {HTMLElement}
 */
function keys() {
  const swatches = Object.entries(COLOURS).map(([name, [light, dark]]) => {
    const swatch = make("span", { class: "key swatch", attributes: { "aria-hidden": "true" } });
    swatch.style.setProperty("--light", light);
    swatch.style.setProperty("--dark", dark);
    return make("span", {}, [swatch, document.createTextNode(` ${name}`)]);
  });
  return make("div", { class: "controls" }, swatches);
}
