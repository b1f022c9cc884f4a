// Uses examples/web as a visitor does: page.mjs MODULES CHROMIUM URL RECORDING PICTURES SPEECH...
// prints what it saw as JSON. SPEECH: speech detectors in the folder models/ of the page.
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";

const [modules, executablePath, url, recording, pictures, ...detectors] = process.argv.slice(2);
const { chromium } = createRequire(`${modules}/`)("playwright-core");

const browser = await chromium.launch({
  executablePath,
  args: [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--use-fake-device-for-media-stream",
    "--use-fake-ui-for-media-stream",
    `--use-file-for-fake-audio-capture=${recording}`,
  ],
});
const errors = [];
const elsewhere = [];

async function visit(options) {
  const page = await browser.newPage(options);
  page.setDefaultTimeout(600_000); // against what hangs: machines may be busy
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  page.on("request", (request) => !request.url().startsWith(url) && !/^(blob|data):/.test(request.url()) && elsewhere.push(request.url()));
  await page.goto(url);
  await page.waitForFunction(() => ["listen-status", "write-status"].every((id) => document.getElementById(id).textContent === "Ready."));
  return page;
}

async function drop(page, bytes, name) {
  const data = await page.evaluateHandle(
    ([text, file]) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))], file));
      return transfer;
    },
    [bytes.toString("base64"), name],
  );
  await page.dispatchEvent("main", "drop", { dataTransfer: data });
}

const heard = (page) => page.$$eval("#events li", (items) => items.map((item) => [Number(item.dataset.ms), item.dataset.word]));

async function dropRecording(page) {
  await drop(page, await readFile(recording), "demo.wav");
  await page.waitForFunction(() => /words in/.test(document.getElementById("listen-status").textContent));
  return heard(page);
}

// The audio thread's part on the same recording at 48 kHz, as fast as it computes: the worklet
// resamples it.
const inWorklet = (page) =>
  page.evaluate(async () => {
    const { decodeAudio, loadModel } = await import("./longwave-web/index.js");
    const model = await loadModel("models/kws.wasm", "models/kws.weights");
    const samples = await decodeAudio(await (await fetch("models/demo.wav")).arrayBuffer(), 48000);
    const context = new OfflineAudioContext(1, samples.length, 48000);
    await context.audioWorklet.addModule("longwave-web/listener-worklet.js");
    const node = new AudioWorkletNode(context, "longwave-listener", { processorOptions: { model, options: { threshold: 0.6 } } });
    const events = [];
    const done = new Promise((resolve, reject) => {
      const blocks = Math.floor(samples.length / 960) - 1;
      let seen = 0;
      node.port.onmessage = ({ data }) => {
        if (data.error) return reject(new Error(data.error));
        for (const event of data.events) events.push([Math.round(1000 * event.time), event.word]);
        if (++seen === blocks) resolve(events);
      };
      node.onprocessorerror = () => reject(new Error("the worklet stopped"));
    });
    const buffer = context.createBuffer(1, samples.length, 48000);
    buffer.copyToChannel(samples, 0);
    const source = new AudioBufferSourceNode(context, { buffer });
    source.connect(node).connect(context.destination);
    source.start();
    await context.startRendering();
    return done;
  });

async function useMicrophone(page, of = "") {
  const id = of === "" ? "listen-status" : "speech-status";
  const status = (start) => page.waitForFunction(([where, text]) => document.getElementById(where).textContent.startsWith(text), [id, start]);
  await page.click(`#${of}microphone`);
  await status("Listening.");
  await page.click(`#${of}microphone`);
  await status("Stopped.");
}

const speechStatus = (page, text) =>
  page.waitForFunction((part) => document.getElementById("speech-status").textContent.includes(part), text).then(() => page.textContent("#speech-status"));

// A visitor drops the model and then the recording.
async function findSpeech(page, name) {
  await drop(page, Buffer.from(await (await fetch(`${url}models/${name}`)).arrayBuffer()), name);
  await speechStatus(page, "gives one probability");
  await drop(page, await readFile(recording), "demo.wav");
  await speechStatus(page, "segments of speech in");
  return page.$$eval("#segments li", (items) => items.map((item) => [Number(item.dataset.start), Number(item.dataset.end)]));
}

// The recording through the worklet at a rate, with a second of silence behind it.
const speechInWorklet = (page, name, rate) =>
  page.evaluate(
    async ([file, sampleRate]) => {
      const { decodeAudio, openModel } = await import("./longwave-web/index.js");
      const get = async (path) => (await fetch(`models/${path}`)).arrayBuffer();
      const model = await openModel(await get(file));
      const samples = await decodeAudio(await get("demo.wav"), sampleRate);
      const context = new OfflineAudioContext(1, samples.length + sampleRate, sampleRate);
      await context.audioWorklet.addModule("longwave-web/speech-worklet.js");
      const node = new AudioWorkletNode(context, "longwave-speech", { processorOptions: { model, options: {} } });
      const segments = [];
      const done = new Promise((resolve, reject) => {
        node.port.onmessage = ({ data }) => {
          if (data.error) return reject(new Error(data.error));
          for (const { type, start, end } of data.events) if (type === "segment") segments.push([start, end]);
          if (data.time > (context.length - 1024) / sampleRate - 0.05) resolve(segments);
        };
        node.onprocessorerror = () => reject(new Error("the worklet stopped"));
      });
      const buffer = context.createBuffer(1, context.length, sampleRate);
      buffer.copyToChannel(samples, 0);
      const source = new AudioBufferSourceNode(context, { buffer });
      source.connect(node).connect(context.destination);
      source.start();
      await context.startRendering();
      return done;
    },
    [name, rate],
  );

// A tone through the worklet at a rate: the largest difference from the tone that is late by the latency.
const filterInWorklet = (page, sampleRate) =>
  page.evaluate(async (rate) => {
    const { openModel } = await import("./longwave-web/index.js");
    const model = await openModel(await (await fetch("models/filter-whole.wasm")).arrayBuffer());
    const context = new OfflineAudioContext(1, rate / 2, rate);
    await context.audioWorklet.addModule("longwave-web/filter-worklet.js");
    const node = new AudioWorkletNode(context, "longwave-filter", { channelCount: 1, channelCountMode: "explicit", processorOptions: { model } });
    const latency = new Promise((resolve, reject) => {
      node.port.onmessage = ({ data }) => (data.error ? reject(new Error(data.error)) : resolve(data.latency));
      node.onprocessorerror = () => reject(new Error("the worklet stopped"));
    });
    const tone = Float32Array.from({ length: rate / 2 }, (_, i) => 0.5 * Math.sin((2 * Math.PI * 1000 * i) / rate));
    const buffer = context.createBuffer(1, tone.length, rate);
    buffer.copyToChannel(tone, 0);
    const source = new AudioBufferSourceNode(context, { buffer });
    source.connect(node).connect(context.destination);
    source.start();
    const heard = (await context.startRendering()).getChannelData(0);
    const late = Math.round((await latency) * rate);
    let worst = 0;
    for (let i = late + rate / 20; i < heard.length; i++) worst = Math.max(worst, Math.abs(heard[i] - tone[i - late]));
    return { late, worst };
  }, sampleRate);

// A visitor drops a filter, hears the sample, and uses the microphone.
async function cleanUp(page) {
  const status = (text) => page.waitForFunction((part) => document.getElementById("clean-status").textContent.includes(part), text);
  await drop(page, Buffer.from(await (await fetch(`${url}models/filter-whole.wasm`)).arrayBuffer()), "filter-whole.wasm");
  await status("filters 16000 Hz");
  const said = await page.textContent("#clean-status");
  await page.click("#clean-sample");
  await status("of sound, filtered in");
  const same = await page.evaluate(async () => {
    const { decodeAudio } = await import("./longwave-web/index.js");
    const sound = async (path) => decodeAudio(await (await fetch(path)).arrayBuffer(), 16000);
    const [before, after] = [await sound("models/demo.wav"), await sound(document.getElementById("clean-player").src)];
    return before.length === after.length && before.every((value, i) => value === after[i]);
  });
  await page.click("#clean-microphone");
  await status("Listening,");
  await page.click("#clean-microphone");
  await status("Stopped.");
  return { said, same };
}

async function refuseModel(page, bytes, name) {
  await drop(page, bytes, name);
  return speechStatus(page, `${name}: `);
}

async function write(page) {
  await page.fill("#prompt", "It was a long");
  await page.click("#write-button");
  await page.waitForFunction(() => document.getElementById("write-button").textContent === "Write");
  return page.textContent("#text");
}

async function refuse(page) {
  await drop(page, Buffer.from("this is no sound"), "letter.txt");
  await page.waitForFunction(() => document.getElementById("listen-status").classList.contains("failed"));
  return page.textContent("#listen-status");
}

const seen = {};
let page = await visit({ viewport: { width: 1280, height: 900 }, colorScheme: "light" });
seen.worklet = await inWorklet(page);
await useMicrophone(page);
seen.refusal = await refuse(page);
seen.dropped = await dropRecording(page);
seen.text = await write(page);
seen.models = [
  await refuseModel(page, Buffer.from("\x89LWA\r\n\x1a\n", "latin1"), "speech.lw"),
  await refuseModel(page, Buffer.from(await (await fetch(`${url}models/speech.wasm`)).arrayBuffer()), "speech.wasm"),
  await refuseModel(page, Buffer.from(await (await fetch(`${url}models/words-whole.wasm`)).arrayBuffer()), "words-whole.wasm"),
  await refuseModel(page, Buffer.from("no module"), "notes.wasm"),
];
seen.speech = {};
for (const name of detectors)
  seen.speech[name] = { dropped: await findSpeech(page, name), "16000": await speechInWorklet(page, name, 16000), "48000": await speechInWorklet(page, name, 48000) };
await useMicrophone(page, "speech-");
seen.filter = { 16000: await filterInWorklet(page, 16000), 48000: await filterInWorklet(page, 48000), ...(await cleanUp(page)) };
await findSpeech(page, detectors.at(-1));
await page.screenshot({ path: `${pictures}/wide-light.png`, fullPage: true });
await page.emulateMedia({ colorScheme: "dark" });
await page.waitForTimeout(300);
await page.screenshot({ path: `${pictures}/wide-dark.png`, fullPage: true });
await page.close();
for (const colorScheme of ["light", "dark"]) {
  page = await visit({ viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, colorScheme });
  await dropRecording(page);
  await write(page);
  seen[`overflow-${colorScheme}`] = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  await page.screenshot({ path: `${pictures}/narrow-${colorScheme}.png`, fullPage: true });
  await page.close();
}
await browser.close();
console.log(JSON.stringify({ ...seen, errors, elsewhere }));
