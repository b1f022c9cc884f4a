// The audio thread: resamples, and asks the speech detector. It posts {probability, time, events}
// after each row, {ended} with the last events, or {error}.
import { Resampler } from "./resampler.js";
import { SpeechDetector } from "./speech-detector.js";

class SpeechListener extends AudioWorkletProcessor {
  constructor({ processorOptions }) {
    super();
    this.detector = new SpeechDetector(processorOptions.model, processorOptions.options);
    this.resampler = sampleRate === this.detector.sampleRate ? null : new Resampler(sampleRate, this.detector.sampleRate);
    this.heard = 0;
    this.open = true;
    this.port.onmessage = () => this.guarded(() => this.end());
  }

  process([[mono]]) {
    if (mono && this.open) this.guarded(() => this.hear(this.resampler ? this.resampler.push(mono) : mono));
    return this.open;
  }

  hear(samples) {
    const before = Math.floor(this.heard / this.detector.hop);
    const events = this.detector.push(samples);
    this.heard += samples.length;
    if (events.length > 0 || Math.floor(this.heard / this.detector.hop) > before) this.post({ events });
  }

  end() {
    if (!this.open) return;
    this.open = false;
    this.post({ events: this.detector.finish(), ended: true });
  }

  post(what) {
    this.port.postMessage({ probability: this.detector.probability, time: this.heard / this.detector.sampleRate, ...what });
  }

  guarded(action) {
    try {
      action();
    } catch (error) {
      this.open = false;
      this.port.postMessage({ error: error.message });
    }
  }
}

registerProcessor("longwave-speech", SpeechListener);
