# The image begins with its kernels' offsets, in the order of TestKernel (tiny_model.h).
.section .table,"a"
.globl image_table
image_table:
 .long test_scale - image_table
 .long test_fir - image_table
 .long test_running_sum - image_table
 .long test_square - image_table
 .long test_embedding - image_table
 .long test_mean - image_table
 .long test_number - image_table
 .long test_fuse - image_table
 .long test_accumulate - image_table
