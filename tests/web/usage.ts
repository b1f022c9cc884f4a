// Compiled by web_page_test with the types of examples/web/package: what a TypeScript program may
// write.
import { AudioFilter, decodeAudio, filterMicrophone, filterRecording, filtersAudio, findSpeech, listenTo, listenToMicrophone, loadModel, openModel, segmentsOf, SpeechDetector, Spotter, Writer, WritingWorker, type KeywordEvent } from "longwave-web";

const model = await loadModel("kws.wasm", new URL("https://example.org/kws.weights"));
const spotter = new Spotter(model, { threshold: 0.5 });
const { events }: { events: KeywordEvent[] } = listenTo(spotter, await decodeAudio(new ArrayBuffer(8), spotter.sampleRate));
const detector = new SpeechDetector(model, { minSilenceMs: 200 });
for (const { type, start, end } of detector.push(new Float32Array(512))) if (type === "segment" && end !== undefined) detector.reset();
const length: number = segmentsOf(detector, new Float32Array(512)).reduce((sum, { start, end }) => sum + end - start, detector.probability);
const microphone = await listenToMicrophone(model, { onBlock: ({ scores, events: newest }) => newest.map((event) => `${event.word} ${scores[0]}`) });
await microphone.stop();
const speech = await findSpeech(await openModel(new ArrayBuffer(8)), { threshold: 0.6, onRow: ({ probability, time, events: found }) => found.push({ type: "start", start: probability, time }) });
await speech.stop();
const filter = new AudioFilter(model, { sampleRate: 48000 });
filter.process(new Float32Array(128));
const clean: number = filterRecording(filter, new Float32Array(filter.latency)).length + filter.sampleRate;
if (filtersAudio(model.module) && clean > 0) {
  const { stream, latency, stop } = await filterMicrophone(model, { onError: (error) => console.error(error.message) });
  if (stream.active && latency > 0) await stop();
}
for (const part of new Writer(model).write("It was", { temperature: 0 })) if (part === events[0]?.word) break;
await new WritingWorker(model).write("It was", { length: 10, onText: (text: string) => text.length });
// @ts-expect-error: a spotter needs a model
new Spotter();
