// The first part of the page: microphone, sample or dropped recording, and what was heard.
import { decodeAudio, listenTo, listenToMicrophone, Spotter } from "./longwave-web/index.js";
import { Plot } from "./plot.js";

const find = (id) => document.getElementById(id);
const liveSeconds = 10;

/** Returns what hears a recording: its bytes and name. */
export function startListening(model, sampleUrl, reportBlockTime) {
  const spotter = new Spotter(model);
  const lanes = spotter.labels
    .map((word, label) => ({ word, label, threshold: spotter.thresholds[label] }))
    .filter(({ word }) => !word.startsWith("_"));
  const plot = new Plot(find("plot"), lanes);
  plot.clear(liveSeconds, true);
  find("words").textContent = `${lanes.map(({ word }) => word).join(", ")}.`;
  const status = (text, failed = false) => {
    find("listen-status").textContent = text;
    find("listen-status").classList.toggle("failed", failed);
  };
  const guarded = (action) => async (...values) => {
    try {
      await action(...values);
    } catch (error) {
      status(error.message, true);
    }
  };

  let microphone = null;
  let heard = 0;

  const show = (event) => {
    heard++;
    const item = document.createElement("li");
    item.innerHTML = `<b></b><span></span>`;
    item.dataset.word = event.word;
    item.dataset.ms = Math.round(event.time * 1000);
    item.firstChild.textContent = event.word;
    item.lastChild.textContent = `${event.time.toFixed(2)} s · ${Math.round(event.score * 100)} %`;
    find("events").append(item);
  };
  const begin = (span, follow) => {
    heard = 0;
    find("events").replaceChildren();
    plot.clear(span, follow);
  };

  const setListening = (on) => {
    find("microphone").classList.toggle("listening", on);
    find("microphone-label").textContent = on ? "Stop listening" : "Use the microphone";
  };
  const stopMicrophone = async () => {
    const running = microphone;
    microphone = null;
    setListening(false);
    await running?.stop();
  };

  const hearMicrophone = async () => {
    if (microphone) {
      await stopMicrophone();
      status(`Stopped. ${heard} words heard.`);
      return;
    }
    find("player").pause();
    find("player").hidden = true;
    begin(liveSeconds, true);
    status("Waiting for the microphone…");
    let blocks = 0;
    microphone = await listenToMicrophone(model, {
      onBlock: ({ scores, events }) => {
        plot.add((++blocks * spotter.block) / spotter.sampleRate, scores, events);
        events.forEach(show);
      },
      onError: guarded(async (error) => {
        await stopMicrophone();
        throw error;
      }),
    });
    setListening(true);
    status("Listening. Say one of the words.");
  };

  const hearRecording = async (bytes, name) => {
    await stopMicrophone();
    status(`Reading ${name}…`);
    const url = URL.createObjectURL(new Blob([bytes]));
    const samples = await decodeAudio(bytes, spotter.sampleRate).catch(() => {
      throw new Error(`${name}: the browser cannot decode this file. Try WAV, MP3 or Ogg.`);
    });
    spotter.reset();
    const start = performance.now();
    const { events, scores } = listenTo(spotter, samples);
    const took = performance.now() - start;
    const seconds = samples.length / spotter.sampleRate;
    begin(seconds, false);
    const width = spotter.labels.length;
    for (let b = 0; b * width < scores.length; b++)
      plot.add(((b + 1) * spotter.block) / spotter.sampleRate, scores.subarray(b * width, (b + 1) * width), []);
    plot.add(seconds, new Float32Array(width), events);
    events.forEach(show);
    const player = find("player");
    URL.revokeObjectURL(player.src);
    player.src = url;
    player.hidden = false;
    reportBlockTime(took / (samples.length / spotter.block));
    status(`${name}: ${heard} words in ${seconds.toFixed(1)} s of sound, heard in ${Math.max(1, Math.round(took))} ms.`);
  };

  find("microphone").onclick = guarded(hearMicrophone);
  find("sample").onclick = guarded(async () => {
    const response = await fetch(sampleUrl);
    if (!response.ok) throw new Error(`${sampleUrl}: ${response.status} ${response.statusText}`);
    await hearRecording(await response.arrayBuffer(), "The sample");
  });
  find("file").onchange = guarded(async ({ target }) => {
    const [file] = target.files;
    target.value = "";
    if (file) await hearRecording(await file.arrayBuffer(), file.name);
  });
  followPlayer(plot);
  for (const id of ["microphone", "sample", "file"]) find(id).disabled = false;
  status("Ready.");
  return guarded(hearRecording);
}

// The line in the plot is where the player is; a click in the plot moves both.
function followPlayer(plot) {
  const player = find("player");
  const follow = () => {
    plot.cursor = player.currentTime;
    if (!player.paused) requestAnimationFrame(follow);
  };
  player.onplay = follow;
  player.onseeked = follow;
  find("plot").onclick = ({ offsetX }) => {
    if (player.hidden) return;
    player.currentTime = Math.min(plot.timeAt(offsetX), player.duration || 0);
  };
}
