// Segments of speech in audio. Synchronous, and without allocation per block: an audio worklet may
// call it.
import { check, openInstance } from "./instance.js";

const KINDS = [, "began", "dropped", "start", "segment"];
const ROW = 5;

// In the library 0 is the default, and a negative time is none.
const time = (value) => (value === 0 ? -1 : value);

export class SpeechDetector {
  #wasm;
  #input;
  #probability = 0;

  constructor(
    { module, weights },
    { threshold = 0.5, negativeThreshold = 0, minSpeechMs = 250, minSilenceMs = 100, speechPadMs = 30, maxSpeechSeconds = Infinity } = {},
  ) {
    if (!WebAssembly.Module.exports(module).some(({ name }) => name === "event_probability"))
      throw new Error("the module finds no speech: make one with `make -C examples/web speech SPEECH=FOLDER`");
    const longest = maxSpeechSeconds === Infinity ? 0 : maxSpeechSeconds;
    this.#wasm = openInstance(module, weights, threshold, negativeThreshold, time(minSpeechMs), time(minSilenceMs), time(speechPadMs), longest);
    const wasm = this.#wasm;
    this.sampleRate = wasm.sample_rate();
    this.hop = wasm.hop();
    this.#input = new Float32Array(wasm.memory.buffer, wasm.samples(), wasm.samples_capacity());
  }

  /** Hears samples at `sampleRate`. Returns the events that they completed. */
  push(samples) {
    const events = [];
    for (let at = 0; at < samples.length; at += this.#input.length) {
      const part = samples.subarray(at, at + this.#input.length);
      this.#input.set(part);
      for (let done = 0; done < part.length; ) {
        const taken = this.#wasm.push(done, part.length - done);
        if (taken < 0) check(this.#wasm, taken);
        done += taken;
        this.#pull(events);
      }
    }
    return events;
  }

  /** Ends the audio. Returns the last events. */
  finish() {
    const events = [];
    check(this.#wasm, this.#wasm.finish());
    this.#pull(events);
    return events;
  }

  /** Forgets everything that was heard. */
  reset() {
    check(this.#wasm, this.#wasm.reset());
    this.#probability = 0;
  }

  /** Of the newest row. */
  get probability() {
    return this.#probability;
  }

  #pull(events) {
    const wasm = this.#wasm;
    while (wasm.pull()) {
      if (wasm.event_kind() === ROW) {
        this.#probability = wasm.event_probability();
        continue;
      }
      const event = { type: KINDS[wasm.event_kind()], start: wasm.event_start() / this.sampleRate, time: wasm.event_tick() / this.sampleRate };
      if (wasm.event_end() >= 0) event.end = wasm.event_end() / this.sampleRate;
      events.push(event);
    }
  }
}

/** The segments of a complete recording. `onRow` gets each probability, and the seconds until its end. */
export function segmentsOf(detector, samples, onRow = () => {}) {
  const events = [];
  const rows = Math.floor(samples.length / detector.hop);
  for (let row = 0; row < rows; row++) {
    events.push(...detector.push(samples.subarray(row * detector.hop, (row + 1) * detector.hop)));
    onRow(detector.probability, ((row + 1) * detector.hop) / detector.sampleRate);
  }
  events.push(...detector.push(samples.subarray(rows * detector.hop)), ...detector.finish());
  detector.reset();
  return events.filter(({ type }) => type === "segment").map(({ start, end }) => ({ start, end }));
}
