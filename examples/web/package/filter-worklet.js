// The audio thread: samples in, samples out. It posts {ready, latency} first, and {error}, after
// which there is silence.
import { AudioFilter } from "./audio-filter.js";

class Filter extends AudioWorkletProcessor {
  constructor({ processorOptions }) {
    super();
    this.open = true;
    this.port.onmessage = () => (this.open = false);
    try {
      this.filter = new AudioFilter(processorOptions.model, { sampleRate });
      this.port.postMessage({ ready: true, latency: this.filter.latency / sampleRate });
    } catch (error) {
      this.fail(error);
    }
  }

  process([[mono]], [[out]]) {
    if (!this.open) return false;
    if (mono) out.set(mono);
    try {
      this.filter.process(out); // without an input it is silence
    } catch (error) {
      out.fill(0);
      this.fail(error);
    }
    return this.open;
  }

  fail(error) {
    this.open = false;
    this.port.postMessage({ error: error.message });
  }
}

registerProcessor("longwave-filter", Filter);
