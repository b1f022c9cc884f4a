// Keywords in audio. Synchronous, and without allocation per block: an audio worklet may call it.
import { check, openInstance, textAt } from "./instance.js";

export class Spotter {
  #wasm;
  #input;

  constructor({ module, weights }, { threshold = 0 } = {}) {
    this.#wasm = openInstance(module, weights, threshold);
    const wasm = this.#wasm;
    this.sampleRate = wasm.sample_rate();
    this.block = wasm.block();
    this.labels = Array.from({ length: wasm.labels() }, (_, i) => textAt(wasm, wasm.label(i)));
    this.thresholds = this.labels.map((_, i) => wasm.threshold(i));
    this.#input = new Float32Array(wasm.memory.buffer, wasm.samples(), wasm.samples_capacity());
  }

  /** Hears samples at `sampleRate`. Returns the events that they caused. */
  push(samples) {
    const events = [];
    for (let at = 0; at < samples.length; at += this.#input.length) {
      const part = samples.subarray(at, at + this.#input.length);
      this.#input.set(part);
      check(this.#wasm, this.#wasm.push(part.length));
      this.#pull(events);
    }
    return events;
  }

  /** Ends the audio. Returns the events of its last samples. */
  finish() {
    const events = [];
    check(this.#wasm, this.#wasm.finish());
    this.#pull(events);
    return events;
  }

  /** Forgets everything that was heard. */
  reset() {
    check(this.#wasm, this.#wasm.reset());
  }

  /** The averaged score of each label after the last push. The array is a view: copy it to keep
   * it. */
  get scores() {
    return new Float32Array(this.#wasm.memory.buffer, this.#wasm.scores(), this.labels.length);
  }

  #pull(events) {
    const wasm = this.#wasm;
    while (wasm.pull())
      events.push({
        word: this.labels[wasm.event_label()],
        score: wasm.event_score(),
        time: wasm.event_tick() / this.sampleRate,
        start: wasm.event_start() / this.sampleRate,
      });
  }
}

/** Hears a complete recording. Returns its events, and the scores of each block. */
export function listenTo(spotter, samples) {
  const events = [];
  const blocks = Math.floor(samples.length / spotter.block);
  const scores = new Float32Array(blocks * spotter.labels.length);
  for (let b = 0; b < blocks; b++) {
    events.push(...spotter.push(samples.subarray(b * spotter.block, (b + 1) * spotter.block)));
    scores.set(spotter.scores, b * spotter.labels.length);
  }
  events.push(...spotter.push(samples.subarray(blocks * spotter.block)), ...spotter.finish());
  return { events, scores };
}
