/** The two files of a model. Both can be sent to workers and worklets. */
export interface Model {
  module: WebAssembly.Module;
  weights: ArrayBuffer;
}

/** Fetches a .wasm file and the .weights file of the same compilation. */
export function loadModel(moduleUrl: string | URL, weightsUrl: string | URL): Promise<Model>;

/** A module with its weights in one file. Rejects what is none, with the reason. */
export function openModel(bytes: ArrayBuffer): Promise<Model>;

/** A word that was recognised. */
export interface KeywordEvent {
  word: string;
  /** The average that fired, 0 to 1. */
  score: number;
  /** Seconds of audio heard when it fired. */
  time: number;
  /** Seconds at which the word's score rose. */
  start: number;
}

export interface SpotterOptions {
  /** Of every word, in (0, 1]. 0 keeps the thresholds of the model. */
  threshold?: number;
}

/** Keywords in audio. Works in pages, workers and audio worklets. */
export class Spotter {
  constructor(model: Model, options?: SpotterOptions);
  /** Samples per second that `push` expects. */
  readonly sampleRate: number;
  /** Samples that are computed at once. */
  readonly block: number;
  readonly labels: string[];
  /** Of each label. */
  readonly thresholds: number[];
  /** Averaged score of each label after the last push. A view: copy it to keep it. */
  readonly scores: Float32Array;
  /** Hears any number of samples, -1 to 1. */
  push(samples: Float32Array): KeywordEvent[];
  /** Ends the audio. */
  finish(): KeywordEvent[];
  /** Forgets everything that was heard. */
  reset(): void;
}

/** Hears a complete recording at the spotter's rate. `scores` has one row of labels per block. */
export function listenTo(spotter: Spotter, samples: Float32Array): { events: KeywordEvent[]; scores: Float32Array };

/** Settings of a speech detector: those of Silero's get_speech_timestamps. */
export interface SpeechOptions {
  /** Speech is at or above it. Default 0.5. */
  threshold?: number;
  /** Silence is below it. Default: threshold - 0.15, at least 0.01. */
  negativeThreshold?: number;
  /** Segments must be longer. Default 250. */
  minSpeechMs?: number;
  /** Pauses that end a segment. Default 100. */
  minSilenceMs?: number;
  /** Added before and after. Default 30. */
  speechPadMs?: number;
  /** Longer segments are cut. Default: no limit. */
  maxSpeechSeconds?: number;
}

/** Found speech. `start` and `end` of a segment are final. */
export interface SpeechEvent {
  /** "began" is provisional: "start" or "dropped" follows. */
  type: "began" | "dropped" | "start" | "segment";
  /** Seconds. */
  start: number;
  /** Seconds. Of "dropped" and "segment". */
  end?: number;
  /** Seconds of audio that were needed to know it. */
  time: number;
}

/** Segments of speech in audio. Works in pages, workers and audio worklets. */
export class SpeechDetector {
  constructor(model: Model, options?: SpeechOptions);
  /** Samples per second that `push` expects. */
  readonly sampleRate: number;
  /** Samples per probability. */
  readonly hop: number;
  /** The newest probability of speech. */
  readonly probability: number;
  /** Hears any number of samples, -1 to 1. */
  push(samples: Float32Array): SpeechEvent[];
  /** Ends the audio. */
  finish(): SpeechEvent[];
  /** Forgets everything that was heard. */
  reset(): void;
}

/** The segments of a complete recording at the detector's rate, in seconds. `onRow` gets each probability, and the seconds until its end. */
export function segmentsOf(
  detector: SpeechDetector,
  samples: Float32Array,
  onRow?: (probability: number, time: number) => void,
): { start: number; end: number }[];

export interface FindOptions extends SpeechOptions {
  /** After each row: its probability, the seconds heard, and the events. */
  onRow?: (row: { probability: number; time: number; events: SpeechEvent[] }) => void;
  onError?: (error: Error) => void;
}

/** Speech from the microphone, found on the audio thread. Needs https or localhost. */
export function findSpeech(model: Model, options?: FindOptions): Promise<{ stop(): Promise<void> }>;

/** Whether a module filters audio. */
export function filtersAudio(module: WebAssembly.Module): boolean;

/** Audio through a model with audio in and audio out, such as a denoiser. Works in pages, workers and audio worklets. */
export class AudioFilter {
  constructor(model: Model, options?: {
    /** Of the samples in and out. Default: that of the model. */
    sampleRate?: number;
  });
  /** Samples per second. */
  readonly sampleRate: number;
  /** Samples by which the output is late, always. */
  readonly latency: number;
  /** Replaces any number of samples, -1 to 1. */
  process(samples: Float32Array): void;
  /** Forgets everything that was heard. */
  reset(): void;
}

/** A complete recording: as many samples, and each has its own time. */
export function filterRecording(filter: AudioFilter, samples: Float32Array): Float32Array;

/** The microphone, filtered on the audio thread. Needs https or localhost. `latency`: seconds that the model adds. */
export function filterMicrophone(
  model: Model,
  options?: { onError?: (error: Error) => void },
): Promise<{ stream: MediaStream; latency: number; stop(): Promise<void> }>;

export interface ListenOptions extends SpotterOptions {
  /** After each block: the score of each label, and the events. */
  onBlock?: (block: { scores: Float32Array; events: KeywordEvent[] }) => void;
  onError?: (error: Error) => void;
}

/** Keywords from the microphone, computed on the audio thread. Needs https or localhost. */
export function listenToMicrophone(model: Model, options?: ListenOptions): Promise<{ stop(): Promise<void> }>;

/** The samples of an audio file, mono, at this rate. */
export function decodeAudio(bytes: ArrayBuffer, sampleRate: number): Promise<Float32Array>;

export interface WritingOptions {
  /** 0: the most probable byte. Default 0.8. */
  temperature?: number;
  /** Default 0.95. */
  topP?: number;
  /** Equal seeds give equal text. Default 1. */
  seed?: number;
}

/** Text from a byte-level language model, in the thread that calls it. */
export class Writer {
  constructor(model: Model);
  /** Yields text without end. */
  write(prompt: string, options?: WritingOptions): Generator<string, never>;
}

/** The same in a worker. */
export class WritingWorker {
  constructor(model: Model);
  /** Resolves after `length` characters (default 600), or when stopped. */
  write(prompt: string, options?: WritingOptions & { length?: number; onText?: (text: string, charactersPerSecond: number) => void }): Promise<void>;
  stop(): void;
  close(): void;
}

/** Changes the sample rate of a stream. */
export class Resampler {
  constructor(from: number, to: number);
  push(samples: Float32Array): Float32Array;
}
