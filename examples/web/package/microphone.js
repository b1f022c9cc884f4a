// Keywords from the microphone: an AudioWorklet with a spotter in it.

export async function listenToMicrophone(model, { onBlock, onError, ...options } = {}) {
  const media = await navigator.mediaDevices.getUserMedia({ audio: { channelCount: 1, autoGainControl: false, noiseSuppression: false } });
  const context = new AudioContext();
  const stop = async () => {
    for (const track of media.getTracks()) track.stop();
    if (context.state !== "closed") await context.close();
  };
  try {
    await context.audioWorklet.addModule(new URL("./listener-worklet.js", import.meta.url));
    const node = new AudioWorkletNode(context, "longwave-listener", {
      numberOfOutputs: 0,
      channelCount: 1,
      channelCountMode: "explicit",
      processorOptions: { model, options },
    });
    node.port.onmessage = ({ data }) => (data.error ? onError?.(new Error(data.error)) : onBlock?.(data));
    node.onprocessorerror = () => onError?.(new Error("the audio worklet stopped: model and weights do not fit together"));
    context.createMediaStreamSource(media).connect(node);
    await context.resume();
    return {
      stop: async () => {
        node.port.postMessage("stop");
        await stop();
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The samples of an audio file, mono, at the rate of the spotter. */
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
