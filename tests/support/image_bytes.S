# The finished image as data of the test programs.
.section .rodata
.globl lw_test_image, lw_test_image_end
.balign 64
lw_test_image:
.incbin LW_TEST_IMAGE
lw_test_image_end:
.byte 0
.section .note.GNU-stack,"",%progbits
