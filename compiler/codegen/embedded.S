/* Files that the compiler carries with it: the scratch allocator's object for each machine. */
    .section .rodata
    .macro file name, path
    .globl \name, \name\()_end
    .balign 16
\name:
    .incbin "\path"
\name\()_end:
    .endm
    file longwave_shim_x86_64, SHIM_x86_64
    file longwave_shim_aarch64, SHIM_aarch64
    file longwave_shim_arm, SHIM_arm
    file longwave_shim_wasm32, SHIM_wasm32
    file longwave_shim_thumb, SHIM_thumb
    .section .note.GNU-stack, "", %progbits
