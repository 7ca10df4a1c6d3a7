/** @typedef {import("./data.js").Timeline} Timeline */

/**
 * A number that changes with the time. `points` has a cycle and the number from there on, for each
 * change.
 *
 * @typedef {{ name: string, description: string, points: number[] }} Counter
 */

/** Pixels of a counter. */
export const COUNTER_HEIGHT = 30;

/**
 * The counters of a timeline.
 *
 * @param {Timeline} timeline
 * @returns {Counter[]}
 */
export function countersOf(timeline) {
  return [
    { name: "loads", description: "outstanding loads", points: timeline.loads },
    { name: "waves", description: "resident waves", points: timeline.waves },
  ];
}

/**
 * The largest number of a counter.
 *
 * @param {Counter} counter
 * @returns {number}
 */
export function most({ points }) {
  return points.reduce((most, number, at) => (at % 2 === 1 ? Math.max(most, number) : most), 0);
}

/**
 * The number at a cycle.
 *
 * @param {Counter} counter
 * @param {number} cycle
 * @returns {number}
 */
export function numberAt({ points }, cycle) {
  let number = 0;
  for (let at = 0; at < points.length && (points[at] ?? 0) <= cycle; at += 2) {
    number = points[at + 1] ?? 0;
  }
  return number;
}

/**
 * Draws a counter as an area.
 *
 * @param {CanvasRenderingContext2D} context
 * @param {Counter} counter
 * @param {{ y: number, left: number, right: number, until: number, x: (cycle: number) => number }} area
 * @param {string} colour
 */
export function drawCounter(context, counter, { y, left, right, until, x }, colour) {
  const { points } = counter;
  const scale = (COUNTER_HEIGHT - 6) / Math.max(most(counter), 1);
  context.fillStyle = colour;
  for (let at = 0; at < points.length; at += 2) {
    const from = Math.max(x(points[at] ?? 0), left);
    const to = Math.min(x(points[at + 2] ?? until), right);
    const height = (points[at + 1] ?? 0) * scale;
    if (to > from) {
      context.fillRect(from, y + COUNTER_HEIGHT - 2 - height, to - from, height);
    }
  }
}
