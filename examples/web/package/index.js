export { loadModel, openModel } from "./load.js";
export { Spotter, listenTo } from "./spotter.js";
export { SpeechDetector, segmentsOf } from "./speech-detector.js";
export { decodeAudio, findSpeech, listenToMicrophone } from "./microphone.js";
export { Writer } from "./writer.js";
export { WritingWorker } from "./write.js";
export { Resampler } from "./resampler.js";
