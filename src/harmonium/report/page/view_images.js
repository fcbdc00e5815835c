// A row as a picture whose pixels can be painted and held.

import { make } from "./dom.js";
import { paint } from "./images.js";

const TOOLS = [["on", "pin on"], ["off", "pin off"], ["free", "unpin"]];

export class ImageView {
  /** @param rows {shape, low, high}: height and width of a row, and the values of black and white. */
  constructor(simulation, rows) {
    Object.assign(this, { simulation, rows, tool: "on", cursor: 0, meansShown: false });
    const [height, width] = rows.shape;
    this.canvas = make("canvas", {
      width, height, tabindex: 0, class: "stage", role: "application",
      "aria-label": "The visible units. Arrow keys move, 1 and 0 pin a pixel on and off, Delete unpins it.",
      onpointerdown: (event) => { event.preventDefault(); this.canvas.focus(); this.canvas.setPointerCapture(event.pointerId); this.touch(event); },
      onpointermove: (event) => { if (event.buttons) this.touch(event); },
      onkeydown: (event) => this.press(event),
    });
    const scale = Math.max(1, Math.floor(Math.min(308 / height, 560 / width)));
    this.canvas.style.width = `${scale * width}px`;
    this.context = this.canvas.getContext("2d");
    this.image = this.context.createImageData(width, height);
    this.says = make("p", { class: "note", "aria-live": "polite" }, "");
    const tools = TOOLS.map(([name, words]) => make("label", {},
      make("input", { type: "radio", name: "tool", value: name, checked: name === "on", onchange: () => { this.tool = name; } }), words));
    const means = make("label", {}, make("input", { type: "checkbox", onchange: (event) => { this.meansShown = event.target.checked; this.show(); } }), "show means, not draws");
    this.element = make("div", {},
      this.canvas,
      make("fieldset", { class: "tools" }, make("legend", {}, "Paint on the picture"), ...tools),
      means, this.says);
  }

  touch(event) {
    const box = this.canvas.getBoundingClientRect();
    const [height, width] = this.rows.shape;
    const j = Math.floor(((event.clientX - box.left) / box.width) * width);
    const i = Math.floor(((event.clientY - box.top) / box.height) * height);
    if (i < 0 || j < 0 || i >= height || j >= width) return;
    this.cursor = i * width + j;
    this.apply(this.tool);
  }

  press(event) {
    const [height, width] = this.rows.shape;
    const moves = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -width, ArrowDown: width };
    const tools = { 1: "on", 0: "off", Delete: "free", Backspace: "free" };
    if (event.key in moves) this.cursor = (this.cursor + moves[event.key] + height * width) % (height * width);
    else if (event.key in tools) this.apply(tools[event.key]);
    else return;
    event.preventDefault();
    this.show();
  }

  apply(tool) {
    if (this.cursor >= this.simulation.model.visible.units) return; // a cell of the last line without a unit
    if (tool === "free") this.simulation.release(this.cursor);
    else this.simulation.hold(this.cursor, tool === "on" ? this.rows.high : this.rows.low);
    this.show();
  }

  show() {
    const { simulation, rows } = this;
    const { v, held } = simulation.first;
    const shown = this.meansShown ? simulation.means() : v;
    paint(this.image, shown, rows.shape, { low: rows.low, high: rows.high });
    const mark = (at, color) => color.forEach((channel, c) => { this.image.data[4 * at + c] = 0.45 * this.image.data[4 * at + c] + 0.55 * channel; });
    held.forEach((is, unit) => { if (is) mark(unit, v[unit] === rows.high ? [255, 170, 60] : [160, 80, 0]); });
    if (document.activeElement === this.canvas) mark(this.cursor, [0, 150, 255]);
    this.context.putImageData(this.image, 0, 0);
    const words = simulation.held ? `${simulation.held} pinned (orange)` : "nothing pinned";
    if (this.says.textContent !== words) this.says.textContent = words;
  }
}
