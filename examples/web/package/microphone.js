// The microphone on the audio thread: an AudioWorklet with a spotter, a speech detector or a filter
// in it.

const endMs = 500; // at most, for the last events

/** Keywords. `onBlock` gets {scores, events}. */
export function listenToMicrophone(model, { onBlock, onError, ...options } = {}) {
  return listen("listener-worklet.js", "longwave-listener", model, options, onBlock, onError);
}

/** Segments of speech. `onRow` gets {probability, time, events}. */
export function findSpeech(model, { onRow, onError, ...options } = {}) {
  return listen("speech-worklet.js", "longwave-speech", model, options, onRow, onError);
}

/** Filtered audio, as a MediaStream for an audio element or a call. `latency`: seconds that the model adds. */
export async function filterMicrophone(model, { onError } = {}) {
  const { context, node, stop } = await openMicrophone("filter-worklet.js", "longwave-filter", model, {}, 1);
  const destination = context.createMediaStreamDestination();
  node.connect(destination);
  try {
    const latency = await new Promise((resolve, reject) => {
      const fail = (text) => {
        reject(new Error(text)); // before it is ready
        onError?.(new Error(text));
      };
      node.port.onmessage = ({ data }) => (data.error ? fail(data.error) : resolve(data.latency));
      node.onprocessorerror = () => fail("the audio worklet stopped: model and weights do not fit together");
    });
    return { stream: destination.stream, latency, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function listen(file, name, model, options, onMessage, onError) {
  const { node, stop } = await openMicrophone(file, name, model, options, 0);
  let ended;
  const end = new Promise((resolve) => (ended = resolve));
  node.port.onmessage = ({ data }) => {
    if (data.error) onError?.(new Error(data.error));
    else if (data.events) onMessage?.(data);
    if (data.error || data.ended) ended();
  };
  node.onprocessorerror = () => onError?.(new Error("the audio worklet stopped: model and weights do not fit together"));
  return {
    stop: async () => {
      node.port.postMessage("stop");
      await Promise.race([end, new Promise((resolve) => setTimeout(resolve, endMs))]);
      await stop();
    },
  };
}

async function openMicrophone(file, name, model, options, numberOfOutputs) {
  const media = await navigator.mediaDevices.getUserMedia({ audio: { channelCount: 1, autoGainControl: false, noiseSuppression: false } });
  const context = new AudioContext();
  const stop = async () => {
    for (const track of media.getTracks()) track.stop();
    if (context.state !== "closed") await context.close();
  };
  try {
    await context.audioWorklet.addModule(new URL(`./${file}`, import.meta.url));
    const node = new AudioWorkletNode(context, name, {
      numberOfOutputs,
      channelCount: 1,
      channelCountMode: "explicit",
      processorOptions: { model, options },
    });
    context.createMediaStreamSource(media).connect(node);
    await context.resume();
    return { context, node, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The samples of an audio file, mono, at this rate. */
export async function decodeAudio(bytes, sampleRate) {
  const context = new OfflineAudioContext(1, 1, sampleRate);
  const audio = await context.decodeAudioData(bytes);
  const mono = new Float32Array(audio.length);
  for (let c = 0; c < audio.numberOfChannels; c++) {
    const channel = audio.getChannelData(c);
    for (let i = 0; i < mono.length; i++) mono[i] += channel[i] / audio.numberOfChannels;
  }
  return mono;
}
