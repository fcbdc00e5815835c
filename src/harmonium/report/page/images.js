// Rows and weights as pictures on a canvas.

import { make } from "./dom.js";

/** Return the colour of a value from 0 to 1, as red, green and blue: black to white. */
const grey = (value) => { const level = 255 * Math.min(1, Math.max(0, value)); return [level, level, level]; };

/** Return the colour of a value from −1 to 1: blue, white, red. */
function diverging(value) {
  const x = Math.min(1, Math.max(-1, value));
  const end = x < 0 ? [33, 102, 172] : [178, 24, 43];
  const part = Math.abs(x);
  return end.map((channel) => 247 + (channel - 247) * part);
}

const COLORS = { grey, diverging };

/** Draw an array of height × width numbers into a part of a picture. */
export function paint(image, numbers, [height, width], { x = 0, y = 0, colors = "grey", low = 0, high = 1 } = {}) {
  const color = COLORS[colors];
  for (let i = 0; i < height; i++) {
    for (let j = 0; j < width; j++) {
      const number = numbers[i * width + j];
      const scaled = colors === "grey" ? (number - low) / (high - low) : number / high;
      const at = 4 * ((y + i) * image.width + x + j);
      [image.data[at], image.data[at + 1], image.data[at + 2]] = color(scaled);
      image.data[at + 3] = 255;
    }
  }
}

/** Return a canvas of tiles, at most `across` in a line, with a gap of one pixel between them. */
export function tiles(arrays, shape, { across: most, scale = 2, label, ...how }) {
  const [height, width] = shape;
  const across = Math.max(1, Math.min(most, arrays.length));
  const down = Math.ceil(arrays.length / across);
  const canvas = make("canvas", {
    width: across * (width + 1) - 1, height: down * (height + 1) - 1, role: "img", "aria-label": label, class: "tiles",
  });
  canvas.style.width = `${scale * canvas.width}px`;
  const context = canvas.getContext("2d");
  const image = context.createImageData(canvas.width, canvas.height);
  arrays.forEach((numbers, k) => {
    paint(image, numbers, shape, { x: (k % across) * (width + 1), y: Math.floor(k / across) * (height + 1), ...how });
  });
  context.putImageData(image, 0, 0);
  return canvas;
}
