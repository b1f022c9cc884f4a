/* Files that the compiler carries with it: the scratch allocator's object and the linker script. */
    .section .rodata
    .globl longwave_scratch_shim, longwave_scratch_shim_end, longwave_image_script, longwave_image_script_end
    .balign 16
longwave_scratch_shim:
    .incbin SHIM_OBJECT
longwave_scratch_shim_end:
longwave_image_script:
    .incbin IMAGE_SCRIPT
longwave_image_script_end:
    .section .note.GNU-stack, "", %progbits
