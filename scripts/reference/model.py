"""The translation model once more, in PyTorch: BiGRU encoder, additive attention, GRU decoder that attends before it
updates (Bahdanau, Cho and Bengio 2015, arXiv 1409.0473, appendix A).

It is the independent check of the C implementation and its yardstick for speed, so it works the way PyTorch programs
usually do: padded batches, packed sequences in the encoder, a mask in the attention, an ignored label in the loss.

Shapes: B sentences, S source tokens, T target tokens (both padded), H encoder units a direction, D decoder units,
A alignment units, E embedding, V target vocabulary.
"""

from dataclasses import dataclass
from typing import List, NamedTuple, Tuple

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

START, END = 1, 2  # the numbers of <s> and </s>; 0 is <unk>
NO_LABEL = -100  # at the padded positions of the labels


@dataclass
class Config:
    """The `model` section of a configuration, and the sizes of the vocabularies."""

    source_vocabulary: int
    target_vocabulary: int
    source_embedding: int
    target_embedding: int
    encoder_hidden: int
    decoder_hidden: int
    attention_size: int
    readout_size: int = 0
    attention_score: str = "additive"
    gru: str = "reset_after"  # or reset_before
    initial_state: str = "backward"  # or mean, zero
    readout: str = "linear"  # or tanh, maxout
    readout_embedding: bool = True
    readout_state: str = "current"  # or previous

    def __post_init__(self):
        choices = {
            "attention_score": ("additive",),
            "gru": ("reset_after", "reset_before"),
            "initial_state": ("backward", "mean", "zero"),
            "readout": ("linear", "tanh", "maxout"),
            "readout_state": ("current", "previous"),
        }
        for key, allowed in choices.items():
            if getattr(self, key) not in allowed:
                raise ValueError(f"{key}: expected one of {', '.join(allowed)}, found {getattr(self, key)!r}")


class Batch(NamedTuple):
    """Sentence pairs as padded tensors."""

    sources: Tensor  # [B,S], each sentence ends with </s>
    source_lengths: Tensor  # [B], </s> counted
    inputs: Tensor  # [B,T], <s> y_1 .. y_T
    labels: Tensor  # [B,T], y_1 .. y_T </s>, NO_LABEL behind

    @staticmethod
    def of(sources: List[List[int]], targets: List[List[int]]) -> "Batch":
        """From sentences without <s> and </s>."""

        def pad(sentences, value):
            return pad_sequence([torch.tensor(ids) for ids in sentences], batch_first=True, padding_value=value)

        return Batch(
            pad([ids + [END] for ids in sources], END),
            torch.tensor([len(ids) + 1 for ids in sources]),
            pad([[START] + ids for ids in targets], END),
            pad([ids + [END] for ids in targets], NO_LABEL),
        )

    @property
    def tokens(self) -> int:
        return int((self.labels != NO_LABEL).sum())


class Memory(NamedTuple):
    """What the decoder knows of the source."""

    annotations: Tensor  # [B,S,2H], zero on padding
    keys: Tensor  # [B,S,A], W_h h_i + b_a
    mask: Tensor  # [B,S], true on real tokens


class ResetBeforeCell(nn.Module):
    """The GRU of the paper: the reset gate acts on the state before the recurrent matrix does. Parameters are laid out
    as those of nn.GRUCell, gates in the order r, z, n."""

    def __init__(self, inputs: int, units: int):
        super().__init__()
        self.weight_ih = nn.Parameter(torch.empty(3 * units, inputs))
        self.weight_hh = nn.Parameter(torch.empty(3 * units, units))
        self.bias_ih = nn.Parameter(torch.empty(3 * units))
        self.bias_hh = nn.Parameter(torch.empty(3 * units))
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -(units**-0.5), units**-0.5)

    def project(self, inputs: Tensor) -> Tensor:
        """Both biases and the input's part of all gates, for any number of steps at once."""
        return inputs @ self.weight_ih.T + self.bias_ih + self.bias_hh

    def update(self, projected: Tensor, state: Tensor) -> Tensor:
        units = state.shape[-1]
        gates, candidate = projected.split([2 * units, units], dim=-1)
        reset, keep = torch.sigmoid(gates + state @ self.weight_hh[: 2 * units].T).chunk(2, dim=-1)
        new = torch.tanh(candidate + (reset * state) @ self.weight_hh[2 * units :].T)
        return (1 - keep) * new + keep * state

    def forward(self, inputs: Tensor, state: Tensor) -> Tensor:
        return self.update(self.project(inputs), state)


class ResetBeforeBiGRU(nn.Module):
    """Both directions of the paper's encoder over padded sentences."""

    def __init__(self, inputs: int, units: int):
        super().__init__()
        self.units = units
        self.ahead = ResetBeforeCell(inputs, units)
        self.back = ResetBeforeCell(inputs, units)

    def forward(self, embedded: Tensor, mask: Tensor) -> Tuple[Tensor, Tensor]:
        ahead, _ = self.run(self.ahead, embedded, mask, range(embedded.shape[1]))
        back, last = self.run(self.back, embedded, mask, reversed(range(embedded.shape[1])))
        return torch.cat([ahead, back], dim=-1) * mask.unsqueeze(-1), last

    def run(self, cell: ResetBeforeCell, embedded: Tensor, mask: Tensor, steps) -> Tuple[Tensor, Tensor]:
        projected = cell.project(embedded)
        state = embedded.new_zeros(embedded.shape[0], self.units)
        states = {}
        for t in steps:
            # Padding leaves the state as it was: backwards, zero until the sentence's own last token.
            state = torch.where(mask[:, t : t + 1], cell.update(projected[:, t], state), state)
            states[t] = state
        return torch.stack([states[t] for t in sorted(states)], dim=1), state


class Encoder(nn.Module):
    def __init__(self, config: Config):
        super().__init__()
        sizes = config.source_embedding, config.encoder_hidden
        self.embedding = nn.Embedding(config.source_vocabulary, config.source_embedding)
        if config.gru == "reset_after":
            self.gru = nn.GRU(*sizes, batch_first=True, bidirectional=True)
        else:
            self.gru = ResetBeforeBiGRU(*sizes)

    def forward(self, sources: Tensor, lengths: Tensor, mask: Tensor) -> Tuple[Tensor, Tensor]:
        """The annotations [B,S,2H] and the backward direction's state at the first token [B,H]."""
        embedded = self.embedding(sources)
        if isinstance(self.gru, ResetBeforeBiGRU):
            return self.gru(embedded, mask)
        packed = pack_padded_sequence(embedded, lengths.cpu(), batch_first=True, enforce_sorted=False)
        annotations, last = self.gru(packed)
        return pad_packed_sequence(annotations, batch_first=True)[0], last[1]


class Attention(nn.Module):
    """e_ti = v_a . tanh(W_s s_{t-1} + W_h h_i + b_a)"""

    def __init__(self, config: Config):
        super().__init__()
        self.query = nn.Linear(config.decoder_hidden, config.attention_size, bias=False)
        self.key = nn.Linear(2 * config.encoder_hidden, config.attention_size)
        self.energy = nn.Linear(config.attention_size, 1, bias=False)

    def forward(self, state: Tensor, memory: Memory) -> Tuple[Tensor, Tensor]:
        """The context [B,2H] and the weights alpha [B,S]."""
        energies = self.energy(torch.tanh(self.query(state).unsqueeze(1) + memory.keys)).squeeze(-1)
        alpha = energies.masked_fill(~memory.mask, float("-inf")).softmax(dim=-1)
        return torch.bmm(alpha.unsqueeze(1), memory.annotations).squeeze(1), alpha


class Decoder(nn.Module):
    def __init__(self, config: Config):
        super().__init__()
        annotation = 2 * config.encoder_hidden
        cell = nn.GRUCell if config.gru == "reset_after" else ResetBeforeCell
        self.units = config.decoder_hidden
        self.initial_state = config.initial_state
        if config.initial_state == "backward":
            self.initial = nn.Linear(config.encoder_hidden, config.decoder_hidden)
        elif config.initial_state == "mean":
            self.initial = nn.Linear(annotation, config.decoder_hidden)
        self.embedding = nn.Embedding(config.target_vocabulary, config.target_embedding)
        self.gru = cell(config.target_embedding + annotation, config.decoder_hidden)

    def start(self, annotations: Tensor, backward: Tensor, lengths: Tensor) -> Tensor:
        """s_0 [B,D]"""
        if self.initial_state == "zero":
            return backward.new_zeros(backward.shape[0], self.units)
        if self.initial_state == "mean":
            return torch.tanh(self.initial(annotations.sum(dim=1) / lengths.unsqueeze(1)))
        return torch.tanh(self.initial(backward))

    def forward(self, embedded: Tensor, context: Tensor, state: Tensor) -> Tensor:
        return self.gru(torch.cat([embedded, context], dim=-1), state)


class Readout(nn.Module):
    """Logits from the features [s ; c ; E y_{t-1}], for any number of steps at once."""

    def __init__(self, config: Config):
        super().__init__()
        self.form = config.readout
        self.embedding = config.readout_embedding
        features = config.decoder_hidden + 2 * config.encoder_hidden
        if config.readout_embedding:
            features += config.target_embedding
        if config.readout == "tanh":
            self.hidden = nn.Linear(features, config.readout_size)
        elif config.readout == "maxout":
            self.hidden = nn.Linear(features, 2 * config.readout_size, bias=False)
        outputs = features if config.readout == "linear" else config.readout_size
        self.output = nn.Linear(outputs, config.target_vocabulary)

    def forward(self, states: Tensor, contexts: Tensor, embedded: Tensor) -> Tensor:
        features = torch.cat([states, contexts, embedded] if self.embedding else [states, contexts], dim=-1)
        if self.form == "tanh":
            features = torch.tanh(self.hidden(features))
        elif self.form == "maxout":
            features = self.hidden(features).unflatten(-1, (-1, 2)).amax(dim=-1)  # neighbours compete
        return self.output(features)


class Translator(nn.Module):
    def __init__(self, config: Config):
        super().__init__()
        self.config = config
        self.encoder = Encoder(config)
        self.attention = Attention(config)
        self.decoder = Decoder(config)
        self.readout = Readout(config)

    def encode(self, sources: Tensor, lengths: Tensor) -> Tuple[Memory, Tensor]:
        """What the decoder attends to, and its first state [B,D]."""
        mask = torch.arange(sources.shape[1], device=sources.device) < lengths.unsqueeze(1)
        annotations, backward = self.encoder(sources, lengths, mask)
        state = self.decoder.start(annotations, backward, lengths)
        return Memory(annotations, self.attention.key(annotations), mask), state

    def readout_state(self, previous: Tensor, state: Tensor) -> Tensor:
        return previous if self.config.readout_state == "previous" else state

    def forward(self, batch: Batch) -> Tuple[Tensor, Tensor]:
        """Teacher forcing: the logits [B,T,V] and the attention [B,T,S] of every step."""
        memory, state = self.encode(batch.sources, batch.source_lengths)
        embedded = self.decoder.embedding(batch.inputs)
        states, contexts, alphas = [], [], []
        for step in embedded.unbind(dim=1):
            previous = state
            context, alpha = self.attention(previous, memory)
            state = self.decoder(step, context, previous)
            states.append(self.readout_state(previous, state))
            contexts.append(context)
            alphas.append(alpha)
        logits = self.readout(torch.stack(states, dim=1), torch.stack(contexts, dim=1), embedded)
        return logits, torch.stack(alphas, dim=1)

    def loss(self, batch: Batch) -> Tensor:
        """-sum log p over all target tokens, in nats."""
        logits, _ = self(batch)
        return cross_entropy(logits.flatten(0, 1), batch.labels.flatten(), ignore_index=NO_LABEL, reduction="sum")

    @torch.no_grad()
    def greedy(self, batch: Batch, limit: int) -> Tuple[List[List[int]], float]:
        """The likeliest token at each step until </s> or `limit` tokens, for each source; and the smallest lead that a
        chosen token had over the second."""
        memory, state = self.encode(batch.sources, batch.source_lengths)
        tokens = torch.full_like(batch.source_lengths, START)
        outputs = [[] for _ in tokens]
        going = torch.ones_like(tokens, dtype=torch.bool)
        smallest_lead = float("inf")
        for _ in range(limit):
            embedded = self.decoder.embedding(tokens)
            previous = state
            context, _ = self.attention(previous, memory)
            state = self.decoder(embedded, context, previous)
            logits = self.readout(self.readout_state(previous, state), context, embedded)
            first, second = logits.topk(2, dim=-1).values.unbind(dim=-1)
            smallest_lead = min(smallest_lead, float((first - second)[going].min()))
            tokens = logits.argmax(dim=-1)
            going = going & (tokens != END)
            for i in going.nonzero().flatten().tolist():
                outputs[i].append(int(tokens[i]))
            if not going.any():
                break
        return outputs, smallest_lead

    def parameters_by_name(self) -> List[Tuple[str, nn.Parameter]]:
        """The parameters under the names that they have in a model file of nmt. There v_a is a vector; here it is a
        matrix of one row."""
        renamed = {
            "encoder.gru.ahead.": "encoder.forward.",
            "encoder.gru.back.": "encoder.backward.",
            "attention.key.bias": "attention.bias",
        }
        for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
            renamed[f"encoder.gru.{part}_l0_reverse"] = f"encoder.backward.{part}"
            renamed[f"encoder.gru.{part}_l0"] = f"encoder.forward.{part}"
        named = []
        for name, parameter in self.named_parameters():
            for here, there in renamed.items():
                name = name.replace(here, there)
            named.append((name, parameter))
        return named
