/* A plugin of qemu that prints how many instructions the emulated CPU executed. Debian does not
 * package qemu's header, so the few declarations that this needs are here (qemu-plugin.h, version 1
 * of the interface).
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct qemu_plugin_tb;
typedef uint64_t plugin_id;
extern void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id, void (*)(plugin_id, struct qemu_plugin_tb *));
extern void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *, int operation, void *counter,
                                                     uint64_t add);
extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
extern void qemu_plugin_register_atexit_cb(plugin_id, void (*)(plugin_id, void *), void *);

static uint64_t executed;

static void count(plugin_id id, struct qemu_plugin_tb *block) {
    (void)id;
    qemu_plugin_register_vcpu_tb_exec_inline(block, 0, &executed, qemu_plugin_tb_n_insns(block));
}

static void print(plugin_id id, void *unused) {
    (void)id, (void)unused;
    fprintf(stderr, "instructions: %" PRIu64 "\n", executed);
}

int qemu_plugin_version = 1;
int qemu_plugin_install(plugin_id id, const void *machine, int argc, char **argv) {
    (void)machine, (void)argc, (void)argv;
    qemu_plugin_register_vcpu_tb_trans_cb(id, count);
    qemu_plugin_register_atexit_cb(id, print, NULL);
    return 0;
}
