// A denoiser that the visitor drops: recordings and the microphone through it.
import { AudioFilter, decodeAudio, filterMicrophone, filterRecording, filtersAudio, openModel } from "./longwave-web/index.js";

const find = (id) => document.getElementById(id);

/** Whether these bytes are a module that filters audio. */
export const isFilter = (bytes) =>
  WebAssembly.compile(bytes)
    .then(filtersAudio)
    .catch(() => false);

// A WAV file of floats, one channel.
function wavOf(samples, rate) {
  const header = new DataView(new ArrayBuffer(44));
  const text = (at, letters) => [...letters].forEach((letter, i) => header.setUint8(at + i, letter.charCodeAt(0)));
  text(0, "RIFF");
  header.setUint32(4, 36 + samples.byteLength, true);
  text(8, "WAVEfmt ");
  header.setUint32(16, 16, true);
  header.setUint16(20, 3, true); // floats
  header.setUint16(22, 1, true);
  header.setUint32(24, rate, true);
  header.setUint32(28, 4 * rate, true);
  header.setUint16(32, 4, true);
  header.setUint16(34, 32, true);
  text(36, "data");
  header.setUint32(40, samples.byteLength, true);
  return new Blob([header, samples], { type: "audio/wav" });
}

/** Returns what takes a model, and what hears a recording: their bytes and name. */
export function startCleaning(sampleUrl) {
  let model = null;
  let filter = null;
  let microphone = null;

  const status = (text, failed = false) => {
    find("clean-status").textContent = text;
    find("clean-status").classList.toggle("failed", failed);
  };
  const guarded = (action) => async (...values) => {
    try {
      await action(...values);
    } catch (error) {
      status(error.message, true);
    }
  };
  const setListening = (on) => {
    find("clean-microphone").classList.toggle("listening", on);
    find("clean-microphone-label").textContent = on ? "Stop" : "Use the microphone";
  };
  const play = (source) => {
    const player = find("clean-player");
    if (player.src) URL.revokeObjectURL(player.src);
    player.removeAttribute("src");
    player.srcObject = source instanceof MediaStream ? source : null;
    if (source instanceof Blob) player.src = URL.createObjectURL(source);
    player.hidden = source === null;
  };
  const stopMicrophone = async () => {
    const running = microphone;
    microphone = null;
    setListening(false);
    if (running) play(null);
    await running?.stop();
  };

  const take = async (bytes, name) => {
    await stopMicrophone();
    try {
      model = await openModel(bytes);
      filter = new AudioFilter(model);
    } catch (error) {
      model = filter = null;
      throw new Error(`${name}: ${error.message}`);
    } finally {
      for (const id of ["clean-microphone", "clean-sample"]) find(id).disabled = model === null;
    }
    const milliseconds = ((1000 * filter.latency) / filter.sampleRate).toFixed(1);
    status(`${name} filters ${filter.sampleRate} Hz with a latency of ${milliseconds} ms. Use the microphone, or drop a recording.`);
  };

  const hear = async (bytes, name) => {
    if (!model) return; // a recording without a model is for the words alone
    await stopMicrophone();
    const samples = await decodeAudio(bytes, filter.sampleRate).catch(() => {
      throw new Error(`${name}: the browser cannot decode this file. Try WAV, MP3 or Ogg.`);
    });
    const started = performance.now();
    const clean = filterRecording(filter, samples);
    const took = performance.now() - started;
    play(wavOf(clean, filter.sampleRate));
    status(`${name}: ${(samples.length / filter.sampleRate).toFixed(1)} s of sound, filtered in ${Math.max(1, Math.round(took))} ms.`);
  };

  const useMicrophone = async () => {
    if (microphone) {
      await stopMicrophone();
      status("Stopped.");
      return;
    }
    status("Waiting for the microphone…");
    microphone = await filterMicrophone(model, {
      onError: guarded(async (error) => {
        await stopMicrophone();
        throw error;
      }),
    });
    setListening(true);
    play(microphone.stream);
    find("clean-player").play();
    status(`Listening, ${(1000 * microphone.latency).toFixed(1)} ms late.`);
  };

  find("clean-microphone").onclick = guarded(useMicrophone);
  find("clean-sample").onclick = guarded(async () => {
    const response = await fetch(sampleUrl);
    if (!response.ok) throw new Error(`${sampleUrl}: ${response.status} ${response.statusText}`);
    await hear(await response.arrayBuffer(), "The sample");
  });
  find("clean-file").onchange = guarded(async ({ target }) => {
    const [file] = target.files;
    target.value = "";
    if (file) await take(await file.arrayBuffer(), file.name);
  });
  return { take: guarded(take), hear: guarded(hear) };
}
