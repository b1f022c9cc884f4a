"""Small configurations of every architecture whose folders of save_pretrained are read."""

from __future__ import annotations

import torch

SMALL = {"vocab_size": 61, "hidden_size": 32, "num_hidden_layers": 2, "state_size": 8}
HEADS = {"num_heads": 8, "head_dim": 8, "n_groups": 2}
ODD = {"vocab_size": 37, "hidden_size": 27, "state_size": 5, "conv_kernel": 3}
# model_type -> name -> (configuration, what save_pretrained and the saved weights do)
CASES: dict[str, dict[str, tuple[dict, dict]]] = {
    "mamba2": {
        "groups": (SMALL | HEADS, {}),
        "one group, one layer": (SMALL | HEADS | {"n_groups": 1, "num_hidden_layers": 1}, {}),
        "tied": (SMALL | HEADS | {"tie_word_embeddings": True}, {}),
        "odd sizes": (SMALL | ODD | {"num_heads": 6, "head_dim": 9, "n_groups": 3}, {}),
        "biases": (SMALL | HEADS | {"use_bias": True, "use_conv_bias": False}, {}),
        "limited steps": (SMALL | HEADS | {"time_step_limit": (0.01, 0.05)}, {}),
        "other norm, gelu": (SMALL | HEADS | {"layer_norm_epsilon": 0.01, "hidden_act": "gelu"}, {}),
        "bfloat16": (SMALL | HEADS, {"dtype": torch.bfloat16}),
        "float16": (SMALL | HEADS, {"dtype": torch.float16}),
        "shards": (SMALL | HEADS, {"max_shard_size": "10KB"}),
    },
    "mamba": {
        "tied": (SMALL, {}),
        "not tied, one layer": (SMALL | {"tie_word_embeddings": False, "num_hidden_layers": 1}, {}),
        "odd sizes": (SMALL | ODD | {"expand": 3, "time_step_rank": 3}, {}),
        "biases": (SMALL | {"use_bias": True, "use_conv_bias": False}, {}),
        "bfloat16 shards": (SMALL, {"dtype": torch.bfloat16, "max_shard_size": "10KB"}),
    },
    "falcon_mamba": {
        "tied": (SMALL, {}),
        "not tied, odd sizes": (SMALL | ODD | {"tie_word_embeddings": False}, {}),
        "inner size": (SMALL | {"expand": 16, "intermediate_size": 40}, {}),
        "other norm": (SMALL | {"mixer_rms_eps": 0.1, "time_step_rank": 5}, {}),
    },
}
# Blocks of both kinds, with two heads of queries for each of keys.
MIXED = {
    "vocab_size": 61,
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "pad_token_id": None,
}
TIED, UNTIED = {"tie_word_embeddings": True}, {"tie_word_embeddings": False}
SHORT = {"context": 100}  # fewer tokens than the text has
LFM2 = MIXED | {"intermediate_size": 40, "block_multiple_of": 8, "layer_types": ["conv", "full_attention", "conv"]}
DELTA = {"linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 8, "linear_value_head_dim": 6}
QWEN = (
    MIXED
    | DELTA
    | {
        "intermediate_size": 40,
        "head_dim": 16,
        "layer_types": ["linear_attention", "full_attention", "linear_attention"],
    }
)
NEXT = QWEN | {"num_experts": 0}
SAME_HEADS = {"num_key_value_heads": 4, "linear_num_key_heads": 3, "linear_num_value_heads": 3}
VISION = {
    "depth": 1,
    "hidden_size": 16,
    "intermediate_size": 16,
    "num_heads": 2,
    "out_hidden_size": 32,
    "num_position_embeddings": 16,
}
OLMO = (
    MIXED | DELTA | {"intermediate_size": 40, "layer_types": ["linear_attention", "full_attention", "linear_attention"]}
)
GRANITE = MIXED | {
    "num_local_experts": 0,
    "shared_intermediate_size": 24,
    "mamba_n_heads": 8,
    "mamba_n_groups": 2,
    "mamba_d_state": 8,
}
GRANITE |= {"layer_types": ["mamba", "attention", "mamba"], "attention_multiplier": 0.3}
FALCON = MIXED | {
    "num_hidden_layers": 2,
    "intermediate_size": 40,
    "mamba_d_ssm": 48,
    "mamba_n_heads": 6,
    "mamba_d_state": 8,
    "mamba_n_groups": 2,
}
FACTORS = {
    name + "_multiplier": 0.5 + 0.1 * i
    for i, name in enumerate(("embedding", "lm_head", "key", "attention_in", "attention_out", "ssm_in", "ssm_out"))
}
FACTORS |= {"mlp_multipliers": [0.8, 1.3], "ssm_multipliers": [0.9, 1.1, 0.7, 1.2, 0.6]}
NEMOTRON = MIXED | {
    "intermediate_size": 40,
    "head_dim": 12,
    "mamba_num_heads": 8,
    "mamba_head_dim": 6,
    "n_groups": 2,
    "ssm_state_size": 8,
}
NEMOTRON |= {"layers_block_type": ["mamba", "attention", "mlp", "mamba"]}
GEMMA = MIXED | {"intermediate_size": 48, "attention_window_size": 512}
XLSTM = {"vocab_size": 61, "hidden_size": 32, "num_hidden_layers": 2, "num_heads": 4, "pad_token_id": None}
CASES |= {
    "xlstm": {
        "single": (XLSTM, {}),
        "fused": (XLSTM | {"weight_mode": "fused"}, {}),
        "fused, biases": (XLSTM | {"weight_mode": "fused", "use_bias": True, "eps": 0.01, "norm_eps": 0.01}, {}),
        "odd sizes, biases": (
            XLSTM
            | {
                "vocab_size": 37,
                "hidden_size": 27,
                "num_heads": 3,
                "qk_dim_factor": 0.56,
                "v_dim_factor": 1.34,
                "ffn_proj_factor": 1.3,
                "ffn_round_up_to_multiple_of": 8,
                "use_bias": True,
            },
            {},
        ),
        "one head, one block": (XLSTM | {"num_heads": 1, "num_hidden_layers": 1, "output_logit_soft_cap": 2.0}, {}),
        "gates without caps": (XLSTM | {"gate_soft_cap": 1e4}, {}),
        "bfloat16 shards": (XLSTM, {"dtype": torch.bfloat16, "max_shard_size": "10KB"}),
    },
    "lfm2": {
        "tied": (LFM2, {}),
        "not tied, own heads": (LFM2 | UNTIED | {"num_key_value_heads": 4, "block_auto_adjust_ff_dim": False}, {}),
        "odd sizes, biases": (
            LFM2
            | {
                "vocab_size": 37,
                "hidden_size": 36,
                "num_attention_heads": 6,
                "num_key_value_heads": 3,
                "conv_bias": True,
                "conv_L_cache": 4,
                "block_ffn_dim_multiplier": 1.3,
            },
            {},
        ),
        "attention first": (
            LFM2
            | {
                "layer_types": ["full_attention", "full_attention", "conv"],
                "rope_parameters": {"rope_theta": 100.0, "rope_type": "default"},
                "norm_eps": 0.01,
            },
            {},
        ),
        "bfloat16": (LFM2, {"dtype": torch.bfloat16}),
        "short context": (LFM2, SHORT),
    },
    "qwen3_next": {
        "groups": (NEXT, {}),
        "tied, own heads": (NEXT | SAME_HEADS | TIED | {"attention_bias": True}, {}),
        "odd sizes": (
            NEXT
            | {
                "vocab_size": 37,
                "hidden_size": 27,
                "intermediate_size": 33,
                "num_attention_heads": 3,
                "num_key_value_heads": 1,
                "linear_key_head_dim": 5,
                "linear_conv_kernel_dim": 3,
            },
            {},
        ),
        "all positions rotate": (
            NEXT | {"rope_parameters": {"rope_theta": 1e6, "rope_type": "default", "partial_rotary_factor": 1.0}},
            {},
        ),
        "bfloat16 shards": (NEXT, {"dtype": torch.bfloat16, "max_shard_size": "10KB"}),
        "short context": (NEXT, SHORT),
    },
    "qwen3_5_text": {
        "groups": (QWEN, {}),
        "tied, own heads": (QWEN | SAME_HEADS | TIED, {}),
        "half of positions": (
            QWEN
            | {
                "rope_parameters": {
                    "rope_theta": 1e7,
                    "rope_type": "default",
                    "partial_rotary_factor": 0.5,
                    "mrope_section": [2, 1, 1],
                    "mrope_interleaved": True,
                }
            },
            {},
        ),
        "short context": (QWEN, SHORT | {"dtype": torch.bfloat16}),
    },
    "qwen3_5": {
        "text of a model that sees": ({"text_config": QWEN, "vision_config": VISION}, {}),
        "tied": ({"text_config": QWEN, "vision_config": VISION} | TIED, {}),
    },
    "olmo_hybrid": {
        "rotary": (OLMO, {}),
        "no positions, tied": (
            OLMO
            | TIED
            | {"rope_parameters": {"rope_theta": None, "rope_type": "default"}, "linear_allow_neg_eigval": False},
            {},
        ),
        "odd sizes": (
            OLMO
            | SAME_HEADS
            | {"vocab_size": 37, "intermediate_size": 33, "attention_bias": True, "linear_value_head_dim": 7},
            {},
        ),
        "bfloat16": (OLMO, {"dtype": torch.bfloat16}),
        "short context": (OLMO, SHORT),
    },
    "granitemoehybrid": {
        "no positions": (GRANITE, {}),
        "rotary, factors, tied": (
            GRANITE
            | TIED
            | {
                "position_embedding_type": "rope",
                "embedding_multiplier": 3.0,
                "logits_scaling": 2.5,
                "residual_multiplier": 0.3,
            },
            {},
        ),
        "odd sizes": (
            GRANITE
            | {
                "vocab_size": 37,
                "hidden_size": 36,
                "num_attention_heads": 6,
                "num_key_value_heads": 3,
                "mamba_n_heads": 6,
                "mamba_n_groups": 3,
                "mamba_d_conv": 3,
                "mamba_proj_bias": True,
                "mamba_conv_bias": False,
                "attention_bias": True,
                "time_step_limit": (0.01, 0.5),
            },
            {},
        ),
        "bfloat16": (GRANITE, {"dtype": torch.bfloat16}),
        "short context": (GRANITE, SHORT),
    },
    "falcon_h1": {
        "no norm": (FALCON, {}),
        "factors, tied": (FALCON | FACTORS | TIED, {}),
        "norm behind the gate": (
            FALCON
            | FACTORS
            | {
                "mamba_rms_norm": True,
                "mamba_norm_before_gate": False,
                "mlp_bias": True,
                "projectors_bias": True,
                "mamba_proj_bias": True,
                "attention_bias": True,
            },
            {},
        ),
        "norm before the gate, odd sizes": (
            FALCON
            | {
                "vocab_size": 37,
                "hidden_size": 36,
                "num_attention_heads": 6,
                "num_key_value_heads": 3,
                "mamba_rms_norm": True,
                "mamba_d_ssm": None,
                "mamba_n_heads": 8,
            },
            {},
        ),
        "bfloat16": (FALCON | FACTORS, {"dtype": torch.bfloat16}),
        "short context": (FALCON, SHORT),
    },
    "nemotron_h": {
        "all kinds": (NEMOTRON, {}),
        "told to tie": (NEMOTRON | TIED | {"mlp_hidden_act": "relu", "mlp_bias": True, "time_step_min": 0.1}, {}),
        "odd sizes": (
            NEMOTRON
            | {
                "vocab_size": 37,
                "hidden_size": 27,
                "num_attention_heads": 3,
                "num_key_value_heads": 1,
                "mamba_num_heads": 6,
                "n_groups": 3,
                "conv_kernel": 3,
                "use_bias": True,
            },
            {},
        ),
        "bfloat16": (NEMOTRON, {"dtype": torch.bfloat16}),
        "short context": (NEMOTRON, SHORT),
    },
    "recurrent_gemma": {
        "tied": (GEMMA, {}),
        "not tied, own heads": (
            GEMMA | UNTIED | {"num_key_value_heads": 4, "attention_bias": True, "logits_soft_cap": 2.0},
            {},
        ),
        "odd sizes": (
            GEMMA
            | {
                "vocab_size": 37,
                "hidden_size": 48,
                "num_attention_heads": 6,
                "num_key_value_heads": 3,
                "lru_width": 30,
                "conv1d_width": 3,
            },
            {},
        ),
        "own window": (GEMMA | {"attention_window_size": 50, "block_types": ["recurrent", "attention"]}, {}),
        "bfloat16": (GEMMA, {"dtype": torch.bfloat16}),
        "short context": (GEMMA, SHORT),
    },
}
