// A sequence as letters that can be held, and a logo of what the model then finds probable.

import { draw, make } from "./dom.js";

const ACROSS = 40; // sites in a line
const [CELL, LOGO] = [18, 64]; // width of a site, height of a logo
const LEAST = 0.03; // probability of a letter that the logo shows
const CHEMISTRY = { AVILMFWYC: 0, KRH: 1, DE: 2, STNQ: 3, GP: 4 };
const BASES = { A: 3, C: 1, G: 4, T: 2, U: 2 };

export class SequenceView {
  /** @param sites {letters, numbers}: letters by code, and the number of each site. */
  constructor(simulation, sites) {
    Object.assign(this, { simulation, sites, at: 0 });
    this.kinds = colorsOf(sites.letters);
    this.cells = sites.numbers.map((number, unit) => make("button", {
      class: "letter", title: `site ${number}`, tabindex: unit ? -1 : 0,
      onclick: () => this.select(unit), onkeydown: (event) => this.press(event),
    }));
    this.logos = [];
    const lines = [];
    for (let start = 0; start < this.cells.length; start += ACROSS) {
      const part = this.cells.slice(start, start + ACROSS);
      const logo = draw("svg", { viewBox: `0 0 ${CELL * part.length} ${LOGO}`, class: "logo", role: "img", "aria-label": `Logo of sites from ${sites.numbers[start]}` });
      logo.style.width = `${CELL * part.length}px`;
      this.logos.push([logo, start, part.length]);
      lines.push(make("div", { class: "line-of-letters" }, make("div", { class: "letters" }, ...part), logo));
    }
    this.says = make("p", { class: "note", "aria-live": "polite" }, "");
    this.element = make("div", { class: "sequence" },
      make("p", {}, "Choose a site and type a letter to pin it; Delete unpins it. The logo shows which letters the model then finds probable: the height of a letter is its probability."),
      make("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "Letters and logos" }, ...lines), this.says);
  }

  select(unit) {
    this.cells[this.at].tabIndex = -1;
    this.at = unit;
    this.cells[unit].tabIndex = 0;
    this.cells[unit].focus();
  }

  press(event) {
    const n = this.cells.length;
    const moves = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -ACROSS, ArrowDown: ACROSS };
    const code = this.sites.letters.indexOf(event.key.toUpperCase());
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key in moves) this.select(Math.min(n - 1, Math.max(0, this.at + moves[event.key])));
    else if (event.key === "Delete" || event.key === "Backspace") this.simulation.release(this.at);
    else if (event.key.length === 1 && code >= 0) this.simulation.hold(this.at, code);
    else return;
    event.preventDefault();
    this.show();
  }

  show() {
    const { simulation, sites } = this;
    const { visible } = simulation.model;
    const { v, held } = simulation.first;
    this.cells.forEach((cell, unit) => {
      const letter = sites.letters[visible.valueOf(v, unit)];
      if (cell.textContent !== letter) cell.textContent = letter;
      const cls = `letter kind-${this.kinds(letter)}${held[unit] ? " held" : ""}`;
      if (cell.className !== cls) cell.className = cls;
    });
    const means = simulation.means();
    for (const [logo, start, length] of this.logos) {
      const letters = [];
      for (let k = 0; k < length; k++) letters.push(...this.stack(means, visible.columnsOf(start + k), k));
      logo.replaceChildren(...letters);
    }
    const words = simulation.held ? `${simulation.held} sites pinned` : "nothing pinned";
    if (this.says.textContent !== words) this.says.textContent = words;
  }

  /** Return the letters of a site, the most probable one at the top. */
  stack(means, [first, count], place) {
    const letters = Array.from({ length: count }, (_, code) => [means[first + code], this.sites.letters[code]])
      .filter(([p]) => p >= LEAST).sort((a, b) => a[0] - b[0]);
    let base = LOGO;
    return letters.map(([p, letter]) => {
      const height = p * LOGO;
      const scale = `translate(${CELL * (place + 0.5)} ${base}) scale(${CELL / 13} ${height / 11})`;
      base -= height;
      return draw("text", { transform: scale, "text-anchor": "middle", class: `logo-letter kind-${this.kinds(letter)}` }, letter);
    });
  }
}

/** Return a function that gives the number of a letter's colour. */
function colorsOf(letters) {
  const isBases = Array.from(letters).every((letter) => "-ACGTU".includes(letter));
  const kinds = isBases ? BASES : Object.fromEntries(Object.entries(CHEMISTRY).flatMap(([group, kind]) => Array.from(group, (letter) => [letter, kind])));
  return (letter) => (letter in kinds ? kinds[letter] : 5);
}
