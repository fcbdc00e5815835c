// Functions of statistics, accurate in both tails.

const LOG_2PI = Math.log(2 * Math.PI);

export const sigmoid = (x) => 1 / (1 + Math.exp(-x));

/** Return log(1 + e^x). */
export const softplus = (x) => (x > 0 ? x + Math.log1p(Math.exp(-x)) : Math.log1p(Math.exp(x)));

/** Return log(e^x − 1) for x > 0. */
// e^x overflows from 710 on; at 30 both forms are exact.
export const logExpm1 = (x) => (x > 30 ? x + Math.log1p(-Math.exp(-x)) : Math.log(Math.expm1(x)));

export const log2cosh = (x) => Math.abs(x) + Math.log1p(Math.exp(-2 * Math.abs(x)));

export const logAddExp = (a, b) => Math.max(a, b) + Math.log1p(Math.exp(-Math.abs(a - b)));

/** Return ∫ exp(t y − y²/2) dy over y > 0 for t ≤ 6: a series, or far below 0 a continued fraction. */
function halfLine(t) {
  // Below, the two terms of the sum at the end nearly cancel.
  if (t < -3) {
    let tail = -t;
    for (let k = 60; k >= 1; k--) tail = -t + k / tail;
    return 1 / tail;
  }
  let [term, sum] = [t, t];
  for (let k = 1; Math.abs(term) > 1e-17 * Math.abs(sum); k++) {
    term *= (t * t) / (2 * k + 1);
    sum += term;
  }
  return Math.exp((t * t) / 2) * Math.sqrt(Math.PI / 2) + sum;
}

/** Return log ∫ exp(t y − y²/2) dy over y > 0. */
export function logHalfLine(t) {
  if (t <= 6) return Math.log(halfLine(t));
  const below = halfLine(-t) * Math.exp(-(t * t + LOG_2PI) / 2);
  return (t * t + LOG_2PI) / 2 + Math.log1p(-below);
}

/** Return the mean of y > 0 with the density ∝ exp(t y − y²/2). */
export const meanHalfLine = (t) => t + Math.exp(-logHalfLine(t));

/** Return log [(e^t − 1)/t]. */
export function logInterval(t) {
  if (Math.abs(t) < 1e-3) return t / 2 + (t * t) / 24; // the next term is below 4e-16
  return t > 0 ? t + Math.log(-Math.expm1(-t) / t) : Math.log(Math.expm1(t) / t);
}

/** Return the mean of 0 ≤ x ≤ 1 with the density ∝ e^(tx). */
export function meanInterval(t) {
  // Near 0 the two terms, of the size 1/t, cancel.
  return Math.abs(t) < 1e-3 ? 0.5 + t / 12 : -1 / Math.expm1(-t) - 1 / t;
}

/** Return log x! of a whole number (Stirling's series above 20). */
export function logFactorial(x) {
  if (x < 20) {
    let product = 1;
    for (let k = 2; k <= x; k++) product *= k;
    return Math.log(product);
  }
  const z = x + 1;
  // The next term, 1/(1260 z⁵), is below 2e-10.
  return (z - 0.5) * Math.log(z) - z + LOG_2PI / 2 + 1 / (12 * z) - 1 / (360 * z ** 3);
}

/** Return the lower triangular L with L Lᵀ = A, of n rows one after the other. */
export function cholesky(a, n) {
  const factor = new Float64Array(n * n);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j <= i; j++) {
      let rest = a[i * n + j];
      for (let k = 0; k < j; k++) rest -= factor[i * n + k] * factor[j * n + k];
      factor[i * n + j] = i === j ? Math.sqrt(rest) : rest / factor[j * n + j];
    }
  }
  return factor;
}

/** Solve L y = x in place. */
export function solveLower(l, n, x) {
  for (let i = 0; i < n; i++) {
    for (let k = 0; k < i; k++) x[i] -= l[i * n + k] * x[k];
    x[i] /= l[i * n + i];
  }
}

/** Solve Lᵀ y = x in place. */
export function solveUpper(l, n, x) {
  for (let i = n - 1; i >= 0; i--) {
    for (let k = i + 1; k < n; k++) x[i] -= l[k * n + i] * x[k];
    x[i] /= l[i * n + i];
  }
}
