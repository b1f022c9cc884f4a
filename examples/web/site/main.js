// Loads the two models, and fills in the facts at the end of the page.
import { loadModel } from "./longwave-web/index.js";
import { startListening } from "./listen.js";
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

load("kws", "listen-status", (model) =>
  startListening(model, new URL("./models/demo.wav", import.meta.url), (milliseconds) =>
    fact("20 ms of sound take", `${milliseconds.toFixed(3)} ms`),
  ),
);
load("text", "write-status", startWriting);
