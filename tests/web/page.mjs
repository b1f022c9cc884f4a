// Uses examples/web as a visitor does: page.mjs MODULES CHROMIUM URL RECORDING PICTURES prints what
// it saw as JSON.
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";

const [modules, executablePath, url, recording, pictures] = process.argv.slice(2);
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
    const node = new AudioWorkletNode(context, "longwave-listener", { processorOptions: { model, options: {} } });
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

async function useMicrophone(page) {
  const status = (start) => page.waitForFunction((text) => document.getElementById("listen-status").textContent.startsWith(text), start);
  await page.click("#microphone");
  await status("Listening.");
  await page.click("#microphone");
  await status("Stopped.");
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
