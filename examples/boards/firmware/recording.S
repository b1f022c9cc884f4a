    .section .rodata.recording, "a"
    .balign 4
    .global recording, recording_end
recording:
    .incbin AUDIO, 44 /* behind the header of a WAV file */
    .balign 2
recording_end:
    .section .note.GNU-stack, "", %progbits
