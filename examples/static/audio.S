// The recording, in place of a microphone: samples behind the header of a WAV file.
    .section .rodata.audio, "a"
    .globl audio, audio_end
    .balign 8
audio:
    .incbin AUDIO, 44
audio_end:
