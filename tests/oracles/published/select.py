#!/usr/bin/env python3
"""Chooses the reference tensors of this folder from all of them: select.py FOLDER_OF_ALL

Leaves out what float32 reached (out.*). Streams of CHELA and LightNet are cut to their first rows: a causal model gives the same
rows whatever follows. Standard library only.
"""

import json
import math
import pathlib
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROWS = 800  # of a stream that is cut
CUT = {"stream_chela_ln_pre_K512_2900", "stream_lightnet_fla_3000"}
CASES = """
sgconv_op_causal_KeqL_64 sgconv_op_causal_KltL_384 sgconv_op_learnablefixed_bidir_1024 sgconv_op_linearonly_ch2_160
sgconv_op_lnextra_ch2_linear_96 sgconv_op_sum_nearest_initscale1_128 sgconv_op_trunc_half_causal_256 sgconv_op_uninit_norm_128
sgconv_model_ln_pre_smallvariance_150 sgconv_model_steplogits_causal_bn_pre_500 stream_sgconv_conv_K2048_3000
chela_fuse_causal_3_7_id_bn chela_fuse_causal_dilated chela_fuse_causal_nobn_bias_id chela_fuse_centred_3_5_9_id_bn
chela_fuse_parallel_long_causal chela_fuse_serial_linear_causal
chela_layer_bidir_parallel_64 chela_layer_causal_layernorm_literalresidual_80 chela_layer_causal_scale_post_KltL_100
chela_layer_causal_seriallinear_64 chela_model_listops_causal_bn_post_lengths_120 chela_model_lm_causal_ln_pre_steps_150
stream_chela_ln_pre_K512_2900
orchid_block_m2_dctxd_o_64_b2_dense orchid_op_dct_absfreq_nores_shortL_50_b1
orchid_op_fft_absfreq_convt_72_b1 orchid_op_fft_freq_convf_60_b1 orchid_op_ffto_absfreq_64_b2
lightnet_core_causal_lrpe_128 lightnet_layer_noncausal_lrpe_128 lightnet_mdlrpe_xopes_2d_8x11_l2 lightnet_mdtpe_paper_10x13
lightnet_model_xm_tpe_lrpecos_200 lightnet_op_fla_48 lightnet_op_xm_gatepre_S1_60 lightnet_tpe_paper_1d_120
stream_lightnet_fla_3000
""".split()


def read(path):
    """{name: (shape, bytes)}"""
    data = path.read_bytes()
    size = struct.unpack_from("<Q", data)[0]
    header = json.loads(data[8 : 8 + size])
    body = data[8 + size :]
    return {
        name: (entry["shape"], body[slice(*entry["data_offsets"])])
        for name, entry in header.items()
        if name != "__metadata__"
    }


def write(path, tensors):
    header, body = {}, b""
    for name, (shape, data) in tensors.items():
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


def first_rows(tensor):
    """Of (1, rows, ...)."""
    (batch, _, *rest), data = tensor
    assert batch == 1
    return [1, ROWS, *rest], data[: 4 * ROWS * math.prod(rest)]


def main():
    source, total = pathlib.Path(sys.argv[1]), 0
    for case in CASES:
        tensors = {
            name: tensor for name, tensor in read(source / f"{case}.safetensors").items() if not name.startswith("out.")
        }
        description = json.loads((source / f"{case}.json").read_text(encoding="utf-8"))
        name = case
        if case in CUT:
            rows = description["config"]["L"]
            tensors = {
                key: first_rows(tensor) if not key.startswith("w.") and tensor[0][1:2] == [rows] else tensor
                for key, tensor in tensors.items()
            }
            description["config"]["L"] = ROWS
            name = case.replace(f"_{rows}", f"_{ROWS}")
        description["case"] = name
        description.pop("tensors", None)  # the shapes are in the other file
        write(HERE / f"{name}.safetensors", tensors)
        (HERE / f"{name}.json").write_text(json.dumps(description, separators=(",", ":")) + "\n", encoding="utf-8")
        total += (HERE / f"{name}.safetensors").stat().st_size + (HERE / f"{name}.json").stat().st_size
    print(f"{len(CASES)} cases, {total} bytes")


if __name__ == "__main__":
    main()
