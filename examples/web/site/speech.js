// Voice activity: a model that the visitor drops, and the segments of speech that it finds.
import { decodeAudio, findSpeech, openModel, segmentsOf, SpeechDetector } from "./longwave-web/index.js";
import { Plot } from "./plot.js";

const find = (id) => document.getElementById(id);
const liveSeconds = 10;

/** Returns what takes a model, and what hears a recording: their bytes and name. */
export function startSpeech(sampleUrl) {
  let model = null;
  let detector = null;
  let microphone = null;
  const plot = new Plot(find("speech-plot"), [{ word: "speech", label: 0, threshold: 0.5 }]);
  plot.clear(liveSeconds, true);

  const status = (text, failed = false) => {
    find("speech-status").textContent = text;
    find("speech-status").classList.toggle("failed", failed);
  };
  const guarded = (action) => async (...values) => {
    try {
      await action(...values);
    } catch (error) {
      status(error.message, true);
    }
  };
  const show = ({ start, end }) => {
    const item = document.createElement("li");
    item.dataset.start = start;
    item.dataset.end = end;
    item.textContent = `${start.toFixed(2)} to ${end.toFixed(2)} s`;
    find("segments").append(item);
  };
  const begin = (span, follow) => {
    find("segments").replaceChildren();
    plot.clear(span, follow);
  };
  const speaking = (on) => find("speech").classList.toggle("speaking", on);

  const setListening = (on) => {
    find("speech-microphone").classList.toggle("listening", on);
    find("speech-microphone-label").textContent = on ? "Stop listening" : "Use the microphone";
  };
  const stopMicrophone = async () => {
    const running = microphone;
    microphone = null;
    setListening(false);
    await running?.stop();
    speaking(false);
  };

  const take = async (bytes, name) => {
    await stopMicrophone();
    try {
      model = await openModel(bytes);
      detector = new SpeechDetector(model);
    } catch (error) {
      model = detector = null;
      throw new Error(`${name}: ${error.message}`);
    } finally {
      for (const id of ["speech-microphone", "speech-sample"]) find(id).disabled = model === null;
    }
    begin(liveSeconds, true);
    const milliseconds = (1000 * detector.hop) / detector.sampleRate;
    status(`${name} gives one probability for each ${milliseconds} ms. Use the microphone, or drop a recording.`);
  };

  const hear = async (bytes, name) => {
    if (!model) return; // a recording without a model is for the words alone
    await stopMicrophone();
    const samples = await decodeAudio(bytes, detector.sampleRate).catch(() => {
      throw new Error(`${name}: the browser cannot decode this file. Try WAV, MP3 or Ogg.`);
    });
    const seconds = samples.length / detector.sampleRate;
    begin(seconds, false);
    const started = performance.now();
    const segments = segmentsOf(detector, samples, (probability, time) => plot.add(time, [probability], []));
    const took = performance.now() - started;
    segments.forEach(show);
    status(`${name}: ${segments.length} segments of speech in ${seconds.toFixed(1)} s of sound, found in ${Math.max(1, Math.round(took))} ms.`);
  };

  const useMicrophone = async () => {
    if (microphone) {
      await stopMicrophone();
      status("Stopped.");
      return;
    }
    begin(liveSeconds, true);
    status("Waiting for the microphone…");
    microphone = await findSpeech(model, {
      onRow: ({ probability, time, events }) => {
        plot.add(time, [probability], []);
        for (const event of events) {
          if (event.type === "began") speaking(true);
          else if (event.type !== "start") speaking(false);
          if (event.type === "segment") show(event);
        }
      },
      onError: guarded(async (error) => {
        await stopMicrophone();
        throw error;
      }),
    });
    setListening(true);
    status("Listening. Say something.");
  };

  find("speech-microphone").onclick = guarded(useMicrophone);
  find("speech-sample").onclick = guarded(async () => {
    const response = await fetch(sampleUrl);
    if (!response.ok) throw new Error(`${sampleUrl}: ${response.status} ${response.statusText}`);
    await hear(await response.arrayBuffer(), "The sample");
  });
  find("speech-file").onchange = guarded(async ({ target }) => {
    const [file] = target.files;
    target.value = "";
    if (file) await take(await file.arrayBuffer(), file.name);
  });
  return { take: guarded(take), hear: guarded(hear) };
}
