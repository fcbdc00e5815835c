// Arrays as they stand in the page: base64 of little-endian bytes, and what they mean.

const BYTES = { f16: 2, f32: 4, u8: 1, u16: 2 };

/** Return the number that 16 bits stand for (IEEE 754 binary16). */
export function half(bits) {
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  const size = exponent === 0 ? fraction * 2 ** -24 : (1024 + fraction) * 2 ** (exponent - 25);
  return bits & 0x8000 ? -size : size;
}

/** Return a Float32Array of an encoded array: {kind, data, scale}; numbers are times `scale`. */
export function decoded({ kind, data, scale = 1 }) {
  const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  const numbers = new Float32Array(bytes.length / BYTES[kind]);
  const read = {
    f16: (i) => half(view.getUint16(2 * i, true)),
    f32: (i) => view.getFloat32(4 * i, true),
    u8: (i) => bytes[i],
    u16: (i) => view.getUint16(2 * i, true),
  }[kind];
  for (let i = 0; i < numbers.length; i++) numbers[i] = scale * read(i);
  return numbers;
}

/** Return the rows of an encoded matrix. */
export function decodedRows(encoded) {
  const all = decoded(encoded);
  const width = encoded.shape[1];
  return Array.from({ length: encoded.shape[0] }, (_, i) => all.subarray(i * width, (i + 1) * width));
}
