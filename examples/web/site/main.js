// Loads the two models, hands out dropped files, and fills in the facts at the end of the page.
import { loadModel } from "./longwave-web/index.js";
import { isFilter, startCleaning } from "./clean.js";
import { acceptDrops } from "./drops.js";
import { startListening } from "./listen.js";
import { startSpeech } from "./speech.js";
import { startWriting } from "./write.js";

const facts = new Map([
  ["Keyword weights", "…"],
  ["Text weights", "…"],
  ["20 ms of sound take", "…"],
]);
function fact(name, value) {
  facts.set(name, value);
  document.getElementById("facts").replaceChildren(
    ...[...facts].map(([term, text]) => {
      const entry = document.createElement("div");
      entry.append(Object.assign(document.createElement("dt"), { textContent: term }), Object.assign(document.createElement("dd"), { textContent: text }));
      return entry;
    }),
  );
}

async function load(name, statusId, start) {
  try {
    const url = (file) => new URL(`./models/${file}`, import.meta.url);
    const model = await loadModel(url(`${name}.wasm`), url(`${name}.weights`));
    fact(name === "kws" ? "Keyword weights" : "Text weights", `${(model.weights.byteLength / 1e6).toFixed(1)} MB`);
    start(model);
  } catch (error) {
    const status = document.getElementById(statusId);
    status.textContent = error.message;
    status.classList.add("failed");
  }
}

const sampleUrl = new URL("./models/demo.wav", import.meta.url);
const speech = startSpeech(sampleUrl);
const clean = startCleaning(sampleUrl);
let hearWords = null;
load("kws", "listen-status", (model) => {
  hearWords = startListening(model, sampleUrl, (milliseconds) => fact("20 ms of sound take", `${milliseconds.toFixed(3)} ms`));
});
load("text", "write-status", startWriting);

acceptDrops(async (file) => {
  const bytes = await file.arrayBuffer();
  if (/\.(wasm|lw|onnx)$/i.test(file.name)) return ((await isFilter(bytes)) ? clean : speech).take(bytes, file.name);
  await hearWords?.(bytes.slice(), file.name); // decoding takes the bytes away
  await speech.hear(bytes.slice(), file.name);
  await clean.hear(bytes, file.name);
});
