// Elements, and numbers as text. Text goes in as text only: names of columns may be anything.

const SVG = "http://www.w3.org/2000/svg";

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** Return an HTML element with attributes (`onclick` and the like are functions) and children. */
export const make = (tag, attributes = {}, ...children) =>
  filled(document.createElement(tag), attributes, children);

/** Return an SVG element. */
export const draw = (tag, attributes = {}, ...children) =>
  filled(document.createElementNS(SVG, tag), attributes, children);

const MINUS = "−";

/** Return a number with at most so many significant digits, and a true minus sign. */
export function figures(number, digits = 3) {
  if (number === null || number === undefined || !Number.isFinite(number)) return "unknown";
  if (number === 0) return "0";
  const size = Math.abs(number);
  const text = size >= 1e6 || size < 1e-4
    ? size.toExponential(digits - 1)
    : size >= 10 ** (digits - 1) ? Math.round(size).toLocaleString("en-US") : String(Number(size.toPrecision(digits)));
  return (number < 0 ? MINUS : "") + text;
}

/** Return nats with two decimals. */
export const nats = (number) =>
  number === null || !Number.isFinite(number)
    ? "unknown"
    : (number < 0 ? MINUS : "") + Math.abs(number).toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 });

export const count = (number) => Math.round(number).toLocaleString("en-US");

/** Return "1 row" or "2 rows". */
export const countOf = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;

/** Return a text of at most so many letters. */
export const shortened = (text, most = 40) => (text.length <= most ? text : `${text.slice(0, most - 1)}…`);

/** Return a section with a heading, which the contents link to. */
export function section(title, ...children) {
  const id = title.toLowerCase().replaceAll(/[^a-z]+/g, "-");
  return make("section", { id, "aria-labelledby": `${id}-title` }, make("h2", { id: `${id}-title` }, title), ...children);
}

/** Return a button; `title` says what it does. */
export const button = (words, onclick, title) => make("button", { type: "button", onclick, title }, words);

/** Return a figure with its caption and, if there are any, words below it. */
export const figure = (caption, content, words = null) =>
  make("figure", {}, make("figcaption", {}, caption), content, words && note(words));

export const footer = () => make("footer", {}, note("Made by harmonium. This page is complete: it needs no network."));

export const note = (...children) => make("p", { class: "note" }, ...children);
