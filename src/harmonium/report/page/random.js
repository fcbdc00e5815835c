// Random numbers that a seed fixes.

/** Numbers of the generator sfc32 (Chris Doty-Humphrey, PractRand). */
export class Random {
  constructor(seed) {
    this.state = new Uint32Array([seed, seed ^ 0x9e3779b9, seed ^ 0x243f6a88, 1]);
    this.spare = null;
    for (let i = 0; i < 20; i++) this.bits();
  }

  /** Return 32 random bits. */
  bits() {
    const s = this.state;
    const drawn = (s[0] + s[1] + s[3]) >>> 0;
    s[3] += 1;
    s[0] = s[1] ^ (s[1] >>> 9);
    s[1] = s[2] + (s[2] << 3);
    s[2] = ((s[2] << 21) | (s[2] >>> 11)) + drawn;
    return drawn;
  }

  /** Return a number between 0 and 1, neither of them. */
  uniform() {
    return (this.bits() + 0.5) / 4294967296;
  }

  /** Return a whole number from 0 to n − 1. */
  below(n) {
    return Math.floor(this.uniform() * n);
  }

  /** Return a number of the exponential distribution with mean 1. */
  exponential() {
    return -Math.log(this.uniform());
  }

  /** Return a number of the standard normal distribution (Box and Muller). */
  normal() {
    if (this.spare !== null) {
      const drawn = this.spare;
      this.spare = null;
      return drawn;
    }
    const radius = Math.sqrt(2 * this.exponential());
    const angle = 2 * Math.PI * this.uniform();
    this.spare = radius * Math.sin(angle);
    return radius * Math.cos(angle);
  }

  /** Return y > 0 of the density ∝ exp(t y − y²/2): a normal distribution around t, cut at 0. */
  positiveNormal(t) {
    if (t > -0.5) {
      for (;;) {
        const y = t + this.normal();
        if (y > 0) return y;
      }
    }
    const rate = (-t + Math.sqrt(t * t + 4)) / 2; // an exponential proposal (Robert 1995)
    for (;;) {
      const y = this.exponential() / rate;
      if (this.exponential() > (y - t - rate) ** 2 / 2) return y;
    }
  }

  /** Return a count of the Poisson distribution. */
  poisson(mean) {
    // A sum of Poisson counts is one: large means are taken in portions, of which e^−mean is not 0.
    let [count, left] = [0, mean];
    while (left > 0) {
      const portion = Math.min(left, 500);
      let product = this.uniform();
      const end = Math.exp(-portion);
      while (product > end) {
        count += 1;
        product *= this.uniform();
      }
      left -= portion;
    }
    return count;
  }
}
