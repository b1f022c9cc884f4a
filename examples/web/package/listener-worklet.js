// The audio thread: resamples, fills blocks, asks the spotter. It posts {scores, events} per block,
// {ended} when it is told to stop, or {error}.
import { Resampler } from "./resampler.js";
import { Spotter } from "./spotter.js";

class Listener extends AudioWorkletProcessor {
  constructor({ processorOptions }) {
    super();
    this.spotter = new Spotter(processorOptions.model, processorOptions.options);
    this.resampler = sampleRate === this.spotter.sampleRate ? null : new Resampler(sampleRate, this.spotter.sampleRate);
    this.block = new Float32Array(this.spotter.block);
    this.filled = 0;
    this.open = true;
    this.port.onmessage = () => this.end();
  }

  process([[mono]]) {
    if (!mono) return this.open;
    const samples = this.resampler ? this.resampler.push(mono) : mono;
    try {
      for (let at = 0; at < samples.length; ) {
        const part = samples.subarray(at, at + this.block.length - this.filled);
        this.block.set(part, this.filled);
        at += part.length;
        this.filled += part.length;
        if (this.filled === this.block.length) this.hear();
      }
    } catch (error) {
      this.port.postMessage({ error: error.message });
      this.open = false;
    }
    return this.open;
  }

  end() {
    this.open = false;
    this.port.postMessage({ ended: true });
  }

  hear() {
    this.filled = 0;
    const events = this.spotter.push(this.block);
    this.port.postMessage({ scores: this.spotter.scores.slice(), events });
  }
}

registerProcessor("longwave-listener", Listener);
