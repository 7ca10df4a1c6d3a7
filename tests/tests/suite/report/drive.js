// Drives a report as a reader does, and leaves the results in the page.
(async () => {
  const results = { failed: [], seen: [] };
  const check = (name, holds) => results[holds ? "seen" : "failed"].push(name);
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const pane = (name) => document.getElementById(`pane-${name}`);
  const wait = (cycles) => new Promise((done) => setTimeout(done, cycles));
  const press = (element, key) =>
    element.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  const linked = (name) => all(".row.linked", pane(name)).length;
  const range = () => document.getElementById("timeline-range")?.textContent ?? "";
  const length = () => {
    const [from, until] = range().match(/\d+/g).map(Number);
    return until - from;
  };
  try {
    await wait(50);
    const report = JSON.parse(document.getElementById("report").textContent);
    check("verdict", all(".verdict .answer").length === report.results.length);
    check("versions", all("table tbody tr").length >= report.results.length);
    check("panes", pane("spir-v") !== null && pane("plan") !== null && pane("assembly") !== null);
    check("source", (pane("source") !== null) === report.source.length > 0);

    // A line of assembly leads to its instruction, and to its line of the source.
    const lines = all(".row", pane("assembly"));
    const shown = report.results[0].shown[0];
    const words = new Map(report.spirv.map((line) => [line.word, line]));
    const at = shown.assembly.findIndex(({ word }) => words.has(word));
    lines[at].dispatchEvent(new MouseEvent("mouseover", { bubbles: true }));
    check("hover", all(".row.hovered", pane("spir-v")).length > 0);
    lines[at].click();
    check("click links SPIR-V", linked("spir-v") > 0);
    check("click links assembly", lines[at].classList.contains("linked"));
    check("selected for readers", lines[at].getAttribute("aria-selected") === "true");
    const active = pane("assembly").getAttribute("aria-activedescendant");
    check("active for readers", active === lines[at].id);
    const withSource = shown.assembly.findIndex(({ word }) => words.get(word)?.source);
    if (withSource >= 0) {
      lines[withSource].click();
      check("click links source", linked("source") === 1);
      all(".row.linked", pane("source"))[0].click();
      check("source links back", lines[withSource].classList.contains("linked"));
    }
    const visible = (name) => {
      const outer = pane(name).getBoundingClientRect();
      const rows = all(".row.linked", pane(name)).map((row) => row.getBoundingClientRect());
      return rows.some((row) => row.top >= outer.top - 1 && row.bottom <= outer.bottom + 1);
    };
    check("linked lines are in view", visible("spir-v") && visible("assembly"));

    // A barrier leads to the steps of its plan, by keyboard alone.
    const plan = pane("plan");
    const step = shown.plan.findIndex(({ word }) => word !== undefined);
    if (step >= 0) {
      plan.focus();
      press(plan, "Home");
      for (let line = 0; line < step; line += 1) {
        press(plan, "ArrowDown");
      }
      press(plan, "Enter");
      check("keys link the plan", linked("plan") > 0);
      check("keys link SPIR-V", linked("spir-v") > 0);
      press(plan, "End");
      const last = all(".row", plan).at(-1);
      check("end key", last.id === plan.getAttribute("aria-activedescendant"));
    }
    const explained = shown.plan.some((line) => line.note) || shown.assembly.some((line) => line.note);
    check("explained in place", !explained || all(".note").length > 0);

    // The timeline.
    if (shown.timeline !== null) {
      const button = (name) => document.querySelector(`button[aria-label="${name}"]`);
      const canvas = document.querySelector("canvas");
      const before = length();
      button("Zoom in").click();
      check("zoom in", length() < before);
      const zoomed = range();
      button("Later").click();
      check("later", range() !== zoomed);
      button("Earlier").click();
      check("earlier", range() === zoomed);
      press(canvas, "+");
      check("plus zooms", length() < before / 3);
      press(canvas, "ArrowRight");
      button("Zoom out").click();
      button("Show everything").click();
      check("everything", length() === before);
      const wheel = { deltaY: -1, ctrlKey: true, bubbles: true, cancelable: true };
      canvas.dispatchEvent(new WheelEvent("wheel", wheel));
      check("wheel zooms", length() < before);
      press(canvas, "0");
      const context = canvas.getContext("2d");
      const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
      const colours = new Set();
      for (let pixel = 0; pixel < data.length; pixel += 4) {
        colours.add((data[pixel] << 16) | (data[pixel + 1] << 8) | data[pixel + 2]);
      }
      check("the timeline is drawn", colours.size > 4);
      const status = document.getElementById("timeline-status").textContent;
      check("summary", status.includes("wait at barriers for"));

      // The counters above the waves have the numbers of the report.
      const { left, top } = canvas.getBoundingClientRect();
      const told = (height) => {
        const clientX = left + canvas.clientWidth / 2;
        canvas.dispatchEvent(new PointerEvent("pointermove", { clientX, clientY: top + height }));
        return document.getElementById("timeline-status").textContent;
      };
      const largest = (points) => Math.max(...points.filter((_, at) => at % 2 === 1), 0);
      const { loads, waves } = shown.timeline;
      check("loads are told", told(30).startsWith("outstanding loads") && told(30).endsWith(`at most ${largest(loads)}`));
      check("waves are told", told(60).startsWith("resident waves") && told(60).endsWith(`at most ${largest(waves)}`));
      check("as many waves as tracks at most", largest(waves) > 0 && largest(waves) <= shown.timeline.tracks.length);
    }

    // Every version can be shown.
    const choice = document.getElementById("choice");
    for (const option of choice.options) {
      choice.value = option.value;
      choice.dispatchEvent(new Event("change"));
      check("a version is shown", all(".row", pane("assembly")).length > 0);
    }
    const width = document.documentElement.scrollWidth;
    check(`no wider than the window (${width})`, width <= window.innerWidth);
    check("no image, frame or link", all("img, iframe, object, embed, link, base, form").length === 0);
    check("nothing of the module ran", window.pwned === undefined);

    // On paper nothing scrolls: every line of every listing is there in full.
    const printed = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules]);
    const rules = printed.filter((rule) => rule.media?.mediaText === "print");
    rules.forEach((rule) => { rule.media.mediaText = "all"; });
    const isWhole = (one) => one.scrollHeight <= one.clientHeight + 1 && one.scrollWidth <= one.clientWidth + 1;
    check("printed whole", rules.length > 0 && all(".pane").every(isWhole));
    const isSeen = (one) => one.getClientRects().length > 0;
    const legend = [...all(".key"), ...all("#timeline-status")];
    check("legends are printed", legend.length > 0 && legend.every(isSeen));
    check("buttons are not printed", !all("button, select").some(isSeen));
    rules.forEach((rule) => { rule.media.mediaText = "print"; });

    if (window.axe !== undefined) {
      const { violations } = await window.axe.run(document);
      for (const { id, nodes } of violations) {
        results.failed.push(`axe: ${id}: ${nodes.map((node) => node.html.slice(0, 200)).join("; ")}`);
      }
      results.seen.push("axe");
    }
  } catch (error) {
    results.failed.push(`${error.message} ${error.stack}`);
  }
  results.failed.push(...window.problems.map((problem) => `console: ${problem}`));
  const bytes = new TextEncoder().encode(JSON.stringify(results));
  const binary = [...bytes].map((byte) => String.fromCharCode(byte)).join("");
  const left = document.createElement("pre");
  left.textContent = `RESULTS:${btoa(binary)}:END`;
  document.body.append(left);
})();
