// The microphone on the audio thread: an AudioWorklet with a spotter or a speech detector in it.

const endMs = 500; // at most, for the last events

/** Keywords. `onBlock` gets {scores, events}. */
export function listenToMicrophone(model, { onBlock, onError, ...options } = {}) {
  return listen("listener-worklet.js", "longwave-listener", model, options, onBlock, onError);
}

/** Segments of speech. `onRow` gets {probability, time, events}. */
export function findSpeech(model, { onRow, onError, ...options } = {}) {
  return listen("speech-worklet.js", "longwave-speech", model, options, onRow, onError);
}

async function listen(file, name, model, options, onMessage, onError) {
  const media = await navigator.mediaDevices.getUserMedia({ audio: { channelCount: 1, autoGainControl: false, noiseSuppression: false } });
  const context = new AudioContext();
  const stop = async () => {
    for (const track of media.getTracks()) track.stop();
    if (context.state !== "closed") await context.close();
  };
  try {
    await context.audioWorklet.addModule(new URL(`./${file}`, import.meta.url));
    const node = new AudioWorkletNode(context, name, {
      numberOfOutputs: 0,
      channelCount: 1,
      channelCountMode: "explicit",
      processorOptions: { model, options },
    });
    let ended;
    const end = new Promise((resolve) => (ended = resolve));
    node.port.onmessage = ({ data }) => {
      if (data.error) onError?.(new Error(data.error));
      else if (data.events) onMessage?.(data);
      if (data.error || data.ended) ended();
    };
    node.onprocessorerror = () => onError?.(new Error("the audio worklet stopped: model and weights do not fit together"));
    context.createMediaStreamSource(media).connect(node);
    await context.resume();
    return {
      stop: async () => {
        node.port.postMessage("stop");
        await Promise.race([end, new Promise((resolve) => setTimeout(resolve, endMs))]);
        await stop();
      },
    };
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
