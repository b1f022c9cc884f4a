// Text from a byte-level language model. Synchronous: pages use it through writeInWorker.
import { check, openInstance } from "./instance.js";

export class Writer {
  #wasm;

  constructor({ module, weights }) {
    this.#wasm = openInstance(module, weights);
  }

  /** Yields text, a few characters at a time, for as long as it is asked. */
  *write(prompt, { temperature = 0.8, topP = 0.95, seed = 1 } = {}) {
    const wasm = this.#wasm;
    const bytes = new TextEncoder().encode(prompt);
    if (bytes.length === 0 || bytes.length > wasm.prompt_capacity())
      throw new Error(`a prompt has 1 to ${wasm.prompt_capacity()} bytes, this one ${bytes.length}`);
    new Uint8Array(wasm.memory.buffer, wasm.prompt_bytes(), bytes.length).set(bytes);
    check(wasm, wasm.prompt(bytes.length, temperature, topP, seed));
    const decoder = new TextDecoder(); // a character may have several bytes
    const one = new Uint8Array(1);
    for (;;) {
      const byte = wasm.next();
      if (byte < 0) check(wasm, -byte);
      one[0] = byte;
      const text = decoder.decode(one, { stream: true });
      if (text) yield text;
    }
  }
}
