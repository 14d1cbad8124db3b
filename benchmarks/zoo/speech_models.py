"""torchaudio: recognition, separation, synthesis, and its transforms; language models that listen."""

from __future__ import annotations

from typing import Any

import torch

from entry import Zoo, add, entry, normal, tokens, waveform
from small import made_small

FAMILY = "torchaudio"


class Named(torch.nn.Module):
    """Calls a model with its arguments in order, or a method of it."""

    def __init__(self, model: torch.nn.Module, method: str = "__call__") -> None:
        super().__init__()
        self.model, self.method = model, method

    def forward(self, x: torch.Tensor, lengths: torch.Tensor | None = None) -> Any:
        function = getattr(self.model, self.method)
        return function(x) if lengths is None else function(x, lengths)


def lengths(n: int, longest: int) -> torch.Tensor:
    return longest - torch.arange(n) % 3


@entry("Conformer", FAMILY)
def _() -> Zoo:
    from torchaudio.models import Conformer

    model = Conformer(input_dim=16, num_heads=4, ffn_dim=32, num_layers=2, depthwise_conv_kernel_size=7)

    def arguments(n: int, t: int) -> dict[str, Any]:
        return {"x": normal(n, t, 16), "lengths": lengths(n, t)}

    return Zoo(Named(model), arguments(2, 20), arguments(3, 27))


@entry("Emformer", FAMILY)
def _() -> Zoo:
    from torchaudio.models import Emformer

    model = Emformer(input_dim=16, num_heads=4, ffn_dim=32, num_layers=2, segment_length=4, right_context_length=1)

    def arguments(n: int, t: int) -> dict[str, Any]:
        return {"x": normal(n, t, 16), "lengths": torch.full((n,), t - 1)}

    return Zoo(Named(model), arguments(2, 17), arguments(3, 17))


@entry("Wav2Vec2Model", FAMILY)
def _() -> Zoo:
    from torchaudio.models import wav2vec2_model

    model = wav2vec2_model(
        extractor_mode="group_norm",
        extractor_conv_layer_config=[(16, 10, 5), (16, 4, 4)],
        extractor_conv_bias=False,
        encoder_embed_dim=32,
        encoder_projection_dropout=0.0,
        encoder_pos_conv_kernel=16,
        encoder_pos_conv_groups=4,
        encoder_num_layers=2,
        encoder_num_heads=4,
        encoder_attention_dropout=0.0,
        encoder_ff_interm_features=48,
        encoder_ff_interm_dropout=0.0,
        encoder_dropout=0.0,
        encoder_layer_norm_first=False,
        encoder_layer_drop=0.0,
        aux_num_out=10,
    )
    return Zoo(
        Named(model),
        {"x": waveform(2, 1600), "lengths": torch.tensor([1600, 1200])},
        {"x": waveform(3, 2222), "lengths": torch.tensor([2222, 1200, 1700])},
    )


@entry("WavLM", FAMILY)
def _() -> Zoo:
    from torchaudio.models import wavlm_model

    model = wavlm_model(
        extractor_mode="layer_norm",
        extractor_conv_layer_config=[(16, 10, 5), (16, 4, 4)],
        extractor_conv_bias=False,
        encoder_embed_dim=32,
        encoder_projection_dropout=0.0,
        encoder_pos_conv_kernel=16,
        encoder_pos_conv_groups=4,
        encoder_num_layers=2,
        encoder_num_heads=4,
        encoder_num_buckets=8,
        encoder_max_distance=16,
        encoder_attention_dropout=0.0,
        encoder_ff_interm_features=48,
        encoder_ff_interm_dropout=0.0,
        encoder_dropout=0.0,
        encoder_layer_norm_first=True,
        encoder_layer_drop=0.0,
        aux_num_out=None,
    )
    return Zoo(Named(model), {"x": waveform(2, 1600)}, {"x": waveform(3, 2222)})


@entry("DeepSpeech", FAMILY)
def _() -> Zoo:
    from torchaudio.models import DeepSpeech

    return Zoo(Named(DeepSpeech(16, n_hidden=32, n_class=10)), {"x": normal(2, 1, 20, 16)}, {"x": normal(3, 1, 27, 16)})


@entry("Wav2Letter", FAMILY)
def _() -> Zoo:
    from torchaudio.models import Wav2Letter

    model = Wav2Letter(num_classes=10, input_type="mfcc", num_features=13)
    return Zoo(Named(model), {"x": normal(2, 13, 100)}, {"x": normal(3, 13, 140)})


@entry("ConvTasNet", FAMILY)
def _() -> Zoo:
    from torchaudio.models import ConvTasNet

    model = ConvTasNet(
        enc_kernel_size=8,
        enc_num_feats=16,
        msk_kernel_size=3,
        msk_num_feats=16,
        msk_num_hidden_feats=24,
        msk_num_layers=2,
        msk_num_stacks=2,
    )
    return Zoo(Named(model), {"x": waveform(2, 800)[:, None]}, {"x": waveform(3, 1003)[:, None]})


@entry("HDemucs", FAMILY)
def _() -> Zoo:
    from torchaudio.models import HDemucs

    model = HDemucs(sources=["a", "b"], nfft=1024, depth=4, channels=8)
    return Zoo(Named(model), {"x": normal(2, 2, 8192)}, {"x": normal(3, 2, 12288)}, rtol=1e-2)


@entry("Tacotron2 encoder", FAMILY)
def _() -> Zoo:
    from torchaudio.models import Tacotron2

    class Encoder(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            model = Tacotron2(n_symbol=50, symbol_embedding_dim=32, encoder_embedding_dim=32)
            self.embedding, self.encoder = model.embedding, model.encoder

        def forward(self, x: torch.Tensor, lengths: torch.Tensor) -> Any:
            return self.encoder(self.embedding(x).transpose(1, 2), lengths)

    def arguments(n: int, t: int) -> dict[str, Any]:
        return {"x": tokens(n, t, 50), "lengths": lengths(n, t).sort(descending=True).values}

    return Zoo(Encoder(), arguments(2, 12), arguments(3, 15))


@entry("WaveRNN", FAMILY)
def _() -> Zoo:
    from torchaudio.models import WaveRNN

    class Forward(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = WaveRNN(
                [2, 2, 3], 8, 12, n_res_block=2, n_rnn=16, n_fc=16, kernel_size=5, n_freq=10, n_hidden=16, n_output=16
            )

        def forward(self, wave: torch.Tensor, spectrum: torch.Tensor) -> Any:
            return self.model(wave, spectrum)

    def arguments(n: int, t: int) -> dict[str, Any]:
        return {"wave": normal(n, 1, (t - 4) * 12), "spectrum": normal(n, 1, 10, t)}

    return Zoo(Forward(), arguments(2, 9), arguments(3, 12))


@entry("SquimObjective", FAMILY)
def _() -> Zoo:
    from torchaudio.models import squim_objective_model

    model = squim_objective_model(
        feat_dim=16, win_len=64, d_model=16, nhead=4, hidden_dim=16, num_blocks=1, rnn_type="LSTM", chunk_size=7
    )
    return Zoo(Named(model), {"x": waveform(2, 1600)}, {"x": waveform(3, 2000)})


@entry("RNNT encoder", FAMILY)
def _() -> Zoo:
    from torchaudio.models import emformer_rnnt_model

    model = emformer_rnnt_model(
        input_dim=8,
        encoding_dim=16,
        num_symbols=20,
        segment_length=16,
        right_context_length=4,
        time_reduction_input_dim=8,
        time_reduction_stride=4,
        transformer_num_heads=4,
        transformer_ffn_dim=32,
        transformer_num_layers=2,
        transformer_dropout=0.0,
        transformer_activation="gelu",
        transformer_left_context_length=5,
        transformer_max_memory_size=0,
        transformer_weight_init_scale_strategy="depthwise",
        transformer_tanh_on_mem=True,
        symbol_embedding_dim=16,
        num_lstm_layers=1,
        lstm_layer_norm=True,
        lstm_layer_norm_epsilon=1e-3,
        lstm_dropout=0.0,
    )

    def arguments(n: int) -> dict[str, Any]:
        return {"x": normal(n, 36, 8), "lengths": torch.full((n,), 36)}

    return Zoo(Named(model, "transcribe"), arguments(2), arguments(3))


# -- language models that listen --------------------------------------------------------------------

AUDIO_TOKEN = 99
LISTENING: dict[str, dict[str, Any]] = {
    "voxtral": {"audio_config": {"intermediate_size": 128, "max_source_positions": 20}},
    "qwen3_asr": {"audio_config": {"n_window_infer": 200, "downsample_hidden_size": 16}},
    "granite_speech": {
        "encoder_config": {"hidden_dim": 32, "context_size": 20, "max_pos_emb": 32, "conv_kernel_size": 5},
        "has_lora_adapter": False,
        "audio_token_index": AUDIO_TOKEN,
    },
}


def listening(kind: str) -> Zoo:
    """Audio, whose features take the places of its tokens."""
    import transformers

    changes = {"audio_token_id": AUDIO_TOKEN, **LISTENING[kind]}
    config = made_small(type(transformers.AutoConfig.for_model(kind)), changes)
    model = transformers.AutoModelForSpeechSeq2Seq.from_config(config).eval()

    def arguments(n: int, frames: int, length: int) -> dict[str, Any]:
        shape = (n, frames, 16) if kind == "granite_speech" else (n, 16, frames)
        given: dict[str, Any] = {"input_features": normal(*shape)}
        if kind == "qwen3_asr":
            given["input_features_mask"] = torch.ones(n, frames, dtype=torch.long)
        with torch.no_grad():
            heard = model.get_audio_features(**given).pooler_output
        places = torch.full((n, heard.numel() // (n * 32)), AUDIO_TOKEN)
        return {**given, "input_ids": torch.cat([places, tokens(n, length)], 1)}

    frames = {"voxtral": (40, 40), "qwen3_asr": (200, 300)}.get(kind, (64, 96))
    return Zoo(model, arguments(2, frames[0], 6), arguments(3, frames[1], 9))


for _kind in LISTENING:
    add(f"{_kind} heard", "speech to text", lambda kind=_kind: listening(kind))


TRANSFORMS: dict[str, dict[str, Any]] = {
    "Spectrogram": {"n_fft": 128},
    "MelSpectrogram": {"n_fft": 256, "n_mels": 20},
    "MFCC": {"n_mfcc": 10, "melkwargs": {"n_fft": 256, "n_mels": 20}},
    "LFCC": {"n_lfcc": 10, "n_filter": 20, "speckwargs": {"n_fft": 256}},
    "AmplitudeToDB": {},
    "ComputeDeltas": {},
    "MuLawEncoding": {},
    "Resample": {"orig_freq": 16000, "new_freq": 12000},
    "Fade": {"fade_in_len": 100, "fade_out_len": 50},
    "Vol": {"gain": 0.5},
    "SlidingWindowCmn": {"cmn_window": 30, "min_cmn_window": 10},
    "SpectralCentroid": {"sample_rate": 16000, "n_fft": 128},
    "Preemphasis": {},
    "Deemphasis": {},
    "Loudness": {"sample_rate": 16000},
}


def transform(name: str, options: dict[str, Any]) -> Zoo:
    from torchaudio import transforms

    model = getattr(transforms, name)(**options)
    if name == "SlidingWindowCmn":
        return Zoo(Named(model), {"x": normal(2, 50, 8)}, {"x": normal(3, 50, 8)})
    example, other = waveform(2, 1600), waveform(3, 2222)
    if name == "Loudness":
        example, other = waveform(2, 8000)[:, None], waveform(3, 8000)[:, None]
    return Zoo(Named(model), {"x": example}, {"x": other})


for _name, _options in TRANSFORMS.items():
    add(_name, "torchaudio transforms", lambda name=_name, options=_options: transform(name, options))
