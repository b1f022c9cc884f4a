// Changes the sample rate of a stream: a sinc under a Hann window, cut off at the lower of the two
// rates.

const zeros = 16; // zero crossings on each side

export class Resampler {
  #ratio;
  #cutoff;
  #half;
  #history;
  #next = 0;

  /** @param {number} from samples per second @param {number} to samples per second */
  constructor(from, to) {
    this.#ratio = from / to;
    this.#cutoff = Math.min(1, to / from);
    this.#half = Math.ceil(zeros / this.#cutoff);
    this.#history = new Float32Array(2 * this.#half);
    this.#next = this.#half;
  }

  /** The output samples that follow from these input samples. They come `zeros` samples of the
   * lower rate late. */
  push(samples) {
    const all = new Float32Array(this.#history.length + samples.length);
    all.set(this.#history);
    all.set(samples, this.#history.length);
    const out = [];
    for (; this.#next + this.#half < all.length; this.#next += this.#ratio) {
      const centre = this.#next;
      let sum = 0;
      for (let i = Math.max(0, Math.ceil(centre - this.#half)); i <= centre + this.#half; i++) sum += all[i] * this.#weight(i - centre);
      out.push(sum);
    }
    this.#history = all.slice(all.length - 2 * this.#half);
    this.#next -= samples.length;
    return Float32Array.from(out);
  }

  #weight(distance) {
    const x = Math.PI * distance * this.#cutoff;
    const sinc = Math.abs(x) < 1e-9 ? 1 : Math.sin(x) / x;
    return this.#cutoff * sinc * 0.5 * (1 + Math.cos((Math.PI * distance) / (this.#half + 1)));
  }
}
