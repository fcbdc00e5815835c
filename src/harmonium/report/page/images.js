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

const [EDGE, GAP] = [1, 3]; // pixels of a frame, and between two of them
const FRAME = "rgb(150, 158, 168)"; // seen on white and on black

const COLORS = { grey, diverging };

/** Draw an array of height × width numbers into a picture of that size. */
export function paint(image, numbers, [height, width], { colors = "grey", low = 0, high = 1 } = {}) {
  const color = COLORS[colors];
  for (let i = 0; i < height; i++) {
    for (let j = 0; j < width; j++) {
      const number = numbers[i * width + j];
      const scaled = colors === "grey" ? (number - low) / (high - low) : number / high;
      const at = 4 * (i * width + j);
      [image.data[at], image.data[at + 1], image.data[at + 2]] = color(scaled);
      image.data[at + 3] = 255;
    }
  }
}

/**
 * Return a canvas of tiles, at most `across` in a line, each in a thin frame. A click calls `choose`
 * with the number of the tile; what it does can be done with the keyboard elsewhere in the page.
 */
export function tiles(arrays, [height, width], { across: most, scale = 2, label, choose = null, ...how }) {
  const across = Math.max(1, Math.min(most, arrays.length));
  const down = Math.ceil(arrays.length / across);
  const [stepX, stepY] = [scale * width + 2 * EDGE + GAP, scale * height + 2 * EDGE + GAP];
  const canvas = make("canvas", {
    width: Math.max(1, across * stepX - GAP), height: Math.max(1, down * stepY - GAP), role: "img", "aria-label": label,
  });
  if (choose) {
    canvas.classList.add("choose");
    canvas.addEventListener("click", (event) => {
      const box = canvas.getBoundingClientRect();
      const column = Math.floor((((event.clientX - box.left) / box.width) * canvas.width) / stepX);
      const line = Math.floor((((event.clientY - box.top) / box.height) * canvas.height) / stepY);
      const number = line * across + Math.min(across - 1, column);
      if (number < arrays.length) choose(number);
    });
  }
  const context = canvas.getContext("2d");
  const small = make("canvas", { width, height });
  const image = small.getContext("2d").createImageData(width, height);
  context.imageSmoothingEnabled = false;
  context.fillStyle = FRAME;
  arrays.forEach((numbers, k) => {
    const [x, y] = [(k % across) * stepX, Math.floor(k / across) * stepY];
    paint(image, numbers, [height, width], how);
    small.getContext("2d").putImageData(image, 0, 0);
    context.fillRect(x, y, scale * width + 2 * EDGE, scale * height + 2 * EDGE);
    context.drawImage(small, x + EDGE, y + EDGE, scale * width, scale * height);
  });
  return canvas;
}
