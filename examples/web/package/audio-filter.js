// Audio through a model with audio in and audio out, such as a denoiser. Synchronous, and without
// allocation per block: an audio worklet may call it.
import { check, openInstance } from "./instance.js";

/** Whether the module filters audio. */
export const filtersAudio = (module) => WebAssembly.Module.exports(module).some(({ name }) => name === "latency");

export class AudioFilter {
  #wasm;
  #block;

  /** sampleRate: of the samples in and out. 0: that of the model. */
  constructor({ module, weights }, { sampleRate = 0 } = {}) {
    if (!filtersAudio(module)) throw new Error("the module filters no audio: make one with `make -C examples/web filter FILTER=FOLDER`");
    this.#wasm = openInstance(module, weights, sampleRate);
    const wasm = this.#wasm;
    this.sampleRate = wasm.sample_rate();
    this.latency = wasm.latency();
    this.#block = new Float32Array(wasm.memory.buffer, wasm.samples(), wasm.samples_capacity());
  }

  /** Replaces the samples, which come later by `latency`. */
  process(samples) {
    for (let at = 0; at < samples.length; at += this.#block.length) {
      const part = samples.subarray(at, at + this.#block.length);
      this.#block.set(part);
      check(this.#wasm, this.#wasm.process(part.length));
      part.set(this.#block.length === part.length ? this.#block : this.#block.subarray(0, part.length));
    }
  }

  /** Forgets everything that was heard. */
  reset() {
    check(this.#wasm, this.#wasm.reset());
  }
}

/** A complete recording: as many samples, and each has its own time. */
export function filterRecording(filter, samples) {
  const all = new Float32Array(samples.length + filter.latency);
  all.set(samples);
  filter.process(all);
  filter.reset();
  return all.slice(filter.latency);
}
