import { make } from "./data.js";
import { Links } from "./links.js";

/**
 * A line of a pane.
 *
 * @typedef {{
 *   number: string, text: string, word?: number, source?: string, part?: string, note?: string,
 *   title?: boolean,
 * }} Line
 */

/** A list of lines of which one is active: source, SPIR-V, plan or assembly. */
export class Pane {
  /**
   * @param {string} name
   * @param {Line[]} lines
   * @param {Links} links
   * @param {(line: Line) => void} select
   */
  constructor(name, lines, links, select) {
    const id = `pane-${name.toLowerCase().replace(/[^a-z]+/g, "-")}`;
    this.lines = lines;
    this.active = -1;
    this.select = select;
    this.links = links;
    this.rows = lines.map((line, index) => row(line, `${id}-${index}`));
    const inner = make("div", { class: "pane-inner", attributes: { role: "presentation" } }, this.rows);
    this.list = make(
      "div",
      {
        class: "pane",
        attributes: { role: "listbox", tabindex: "0", "aria-labelledby": `${id}-title`, id },
      },
      [inner],
    );
    const title = make("h3", { text: name, attributes: { id: `${id}-title` } });
    this.element = make("div", { class: "pane-box" }, [title, this.list]);
    lines.forEach((line, index) => {
      const element = this.rows[index];
      if (element !== undefined && isLinked(line)) {
        links.add({ element, word: line.word, source: line.source });
      }
    });
    this.list.addEventListener("mouseover", (event) => this.hover(event));
    this.list.addEventListener("mouseleave", () => links.mark(null, "hovered"));
    this.list.addEventListener("click", (event) => this.activate(this.at(event), true));
    this.list.addEventListener("keydown", (event) => this.key(event));
  }

  /**
   * The number of the line that an event is about, or -1.
   *
   * @param {Event} event
   * @returns {number}
   */
  at(event) {
    const target = event.target instanceof Element ? event.target.closest(".row") : null;
    return target instanceof HTMLElement ? this.rows.indexOf(target) : -1;
  }

  /**
   * @param {Event} event
   */
  hover(event) {
    const line = this.lines[this.at(event)];
    if (line !== undefined) {
      this.links.mark(isLinked(line) ? line : null, "hovered");
    }
  }

  /**
   * Makes a line the active one, and selects it.
   *
   * @param {number} index
   * @param {boolean} selects
   */
  activate(index, selects) {
    const [line, element] = [this.lines[index], this.rows[index]];
    if (line === undefined || element === undefined) {
      return;
    }
    this.rows[this.active]?.classList.remove("active");
    this.active = index;
    element.classList.add("active");
    this.list.setAttribute("aria-activedescendant", element.id);
    reveal(this.list, element);
    if (selects) {
      this.select(line);
    }
  }

  /**
   * @param {KeyboardEvent} event
   */
  key(event) {
    const page = 20;
    /**
     * @type {Record<string, number>}
     */
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page };
    const last = this.lines.length - 1;
    const step = steps[event.key];
    if (step !== undefined) {
      this.activate(Math.min(Math.max(this.active + step, 0), last), false);
    } else if (event.key === "Home" || event.key === "End") {
      this.activate(event.key === "Home" ? 0 : last, false);
    } else if (event.key === "Enter" || event.key === " ") {
      this.activate(this.active, true);
    } else {
      return;
    }
    event.preventDefault();
  }

  /**
   * Shows the first of its lines that are linked.
   *
   * @param {Set<HTMLElement>} linked
   */
  show(linked) {
    for (const element of this.rows) {
      element.setAttribute("aria-selected", String(linked.has(element)));
    }
    this.reveal(linked);
  }

  /**
   * Scrolls to the first of its lines that are among these.
   *
   * @param {Set<HTMLElement>} elements
   */
  reveal(elements) {
    const first = this.rows.find((element) => elements.has(element));
    if (first !== undefined) {
      reveal(this.list, first);
    }
  }
}

/**
 * @param {Line} line
 */
function isLinked(line) {
  return line.word !== undefined || line.source !== undefined;
}

/**
 * @param {Line} line
 * @param {string} id
 * @returns {HTMLElement}
 */
function row(line, id) {
  const number = make("span", { class: "number", text: line.number });
  const parts = [number, document.createTextNode(line.text)];
  if (line.note !== undefined) {
    parts.push(make("span", { class: "note", text: `   \u2190 ${line.note}` }));
  }
  const kind = line.title === true ? "row title" : `row ${line.part ?? ""}`;
  return make(
    "div",
    { class: kind.trim(), attributes: { role: "option", "aria-selected": "false", id } },
    parts,
  );
}

/**
 * Scrolls a list, and not the page, so that a line is inside.
 *
 * @param {HTMLElement} list
 * @param {HTMLElement} element
 */
function reveal(list, element) {
  const [outer, inner] = [list.getBoundingClientRect(), element.getBoundingClientRect()];
  if (inner.top < outer.top || inner.bottom > outer.bottom) {
    list.scrollTop += inner.top - outer.top - outer.height / 3;
  }
}
