export { loadModel, openModel } from "./load.js";
export { Spotter, listenTo } from "./spotter.js";
export { SpeechDetector, segmentsOf } from "./speech-detector.js";
export { AudioFilter, filterRecording, filtersAudio } from "./audio-filter.js";
export { decodeAudio, filterMicrophone, findSpeech, listenToMicrophone } from "./microphone.js";
export { Writer } from "./writer.js";
export { WritingWorker } from "./write.js";
export { Resampler } from "./resampler.js";
