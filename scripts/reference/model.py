"""The translation model once more, in PyTorch: BiGRU encoder, attention, and a GRU decoder that attends before it
updates (Bahdanau, Cho and Bengio 2015, arXiv 1409.0473, appendix A), after (Luong, Pham and Manning 2015, arXiv
1508.04025), or between two cells (Sennrich et al. 2017, arXiv 1703.04357, section 2.2).

It is the independent check of the C implementation and its yardstick for speed, so it works the way PyTorch programs
usually do: padded batches, packed sequences in the encoder, a mask in the attention, an ignored label in the loss.

Shapes: B sentences, S source tokens, T target tokens (both padded), H encoder units a direction, D decoder units,
A alignment units, E embedding, V target vocabulary.
"""

from dataclasses import dataclass
from typing import List, NamedTuple, Optional, Tuple

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, layer_norm, one_hot
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
    attention_score: str = "additive"  # or dot, general, concat, scaled_dot, gaussian, fixed
    attention_heads: int = 1
    attention_extent: str = "global"  # or local_m, local_p
    attention_window: int = 10
    order: str = "bahdanau"  # or luong, conditional
    input_feeding: bool = True
    gru: str = "reset_after"  # or reset_before
    initial_state: str = "backward"  # or mean, zero
    readout: str = "linear"  # or tanh, maxout
    readout_embedding: bool = True
    readout_state: str = "current"  # or previous
    tied_embeddings: str = "none"  # or target, all
    layer_normalization: bool = False
    encoder_layers: int = 1
    decoder_layers: int = 1
    residual: bool = True

    def __post_init__(self):
        choices = {
            "attention_score": ("additive", "dot", "general", "concat", "scaled_dot", "gaussian", "fixed"),
            "attention_extent": ("global", "local_m", "local_p"),
            "order": ("bahdanau", "luong", "conditional"),
            "gru": ("reset_after", "reset_before"),
            "initial_state": ("backward", "mean", "zero"),
            "readout": ("linear", "tanh", "maxout"),
            "readout_state": ("current", "previous"),
            "tied_embeddings": ("none", "target", "all"),
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
    keys: List[Tensor]  # of each head [B,S,K]
    values: List[Tensor]  # of each head [B,S,..]
    mask: Tensor  # [B,S], true on real tokens
    lengths: Tensor  # [B]


class State(NamedTuple):
    """What the decoder carries from step to step."""

    s: Tensor  # [B,D]
    attentional: Tensor  # [B,D], of Luong's order
    upper: Tuple[Tensor, ...] = ()  # [B,D] of each layer above the first


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


class NormalizedCell(nn.Module):
    """Either GRU with layer normalisation (Ba, Kiros and Hinton 2016, supplement): of the input's and the state's part,
    r and z together and n alone."""

    def __init__(self, form: str, inputs: int, units: int):
        super().__init__()
        self.form = form
        self.weight_ih = nn.Parameter(torch.empty(3 * units, inputs))
        self.weight_hh = nn.Parameter(torch.empty(3 * units, units))
        self.gain_ih = nn.Parameter(torch.ones(3 * units))
        self.gain_hh = nn.Parameter(torch.ones(3 * units))
        self.bias_ih = nn.Parameter(torch.zeros(3 * units))
        self.bias_hh = nn.Parameter(torch.zeros(3 * units))
        for parameter in (self.weight_ih, self.weight_hh):
            nn.init.uniform_(parameter, -(units**-0.5), units**-0.5)

    def project(self, inputs: Tensor) -> Tensor:
        """The input's part of all gates, for any number of steps at once."""
        cut = 2 * self.weight_hh.shape[1]
        gates, candidate = (inputs @ self.weight_ih.T).tensor_split([cut], dim=-1)
        return torch.cat(
            [
                layer_norm(gates, (cut,), self.gain_ih[:cut], self.bias_ih[:cut]),
                layer_norm(candidate, (cut // 2,), self.gain_ih[cut:], self.bias_ih[cut:]),
            ],
            dim=-1,
        )

    def update(self, projected: Tensor, state: Tensor) -> Tensor:
        units = state.shape[-1]
        cut = 2 * units
        gates, candidate = projected.split([cut, units], dim=-1)
        recurrent = layer_norm(state @ self.weight_hh[:cut].T, (cut,), self.gain_hh[:cut], self.bias_hh[:cut])
        reset, keep = torch.sigmoid(gates + recurrent).chunk(2, dim=-1)
        read = reset * state if self.form == "reset_before" else state
        part = layer_norm(read @ self.weight_hh[cut:].T, (units,), self.gain_hh[cut:], self.bias_hh[cut:])
        new = torch.tanh(candidate + (part if self.form == "reset_before" else reset * part))
        return (1 - keep) * new + keep * state

    def forward(self, inputs: Tensor, state: Tensor) -> Tensor:
        return self.update(self.project(inputs), state)


def make_cell(config: Config, inputs: int, units: int) -> nn.Module:
    if config.layer_normalization:
        return NormalizedCell(config.gru, inputs, units)
    return (nn.GRUCell if config.gru == "reset_after" else ResetBeforeCell)(inputs, units)


class SteppedBiGRU(nn.Module):
    """Both directions over padded sentences, of cells that nn.GRU does not have."""

    def __init__(self, config: Config, inputs: int, units: int):
        super().__init__()
        self.units = units
        self.ahead = make_cell(config, inputs, units)
        self.back = make_cell(config, inputs, units)

    def forward(self, embedded: Tensor, mask: Tensor) -> Tuple[Tensor, Tensor]:
        ahead, _ = self.run(self.ahead, embedded, mask, range(embedded.shape[1]))
        back, last = self.run(self.back, embedded, mask, reversed(range(embedded.shape[1])))
        return torch.cat([ahead, back], dim=-1) * mask.unsqueeze(-1), last

    def run(self, cell: nn.Module, embedded: Tensor, mask: Tensor, steps) -> Tuple[Tensor, Tensor]:
        projected = cell.project(embedded)
        state = embedded.new_zeros(embedded.shape[0], self.units)
        states = {}
        for t in steps:
            # Padding leaves the state as it was: backwards, zero until the sentence's own last token.
            state = torch.where(mask[:, t : t + 1], cell.update(projected[:, t], state), state)
            states[t] = state
        return torch.stack([states[t] for t in sorted(states)], dim=1), state


def make_bigru(config: Config, inputs: int) -> nn.Module:
    if config.gru == "reset_after" and not config.layer_normalization:
        return nn.GRU(inputs, config.encoder_hidden, batch_first=True, bidirectional=True)
    return SteppedBiGRU(config, inputs, config.encoder_hidden)


class Encoder(nn.Module):
    def __init__(self, config: Config):
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.source_vocabulary, config.source_embedding)
        self.gru = make_bigru(config, config.source_embedding)
        if config.encoder_layers > 1:
            more = range(config.encoder_layers - 1)
            self.upper = nn.ModuleList([make_bigru(config, 2 * config.encoder_hidden) for _ in more])

    def run(self, gru: nn.Module, inputs: Tensor, lengths: Tensor, mask: Tensor) -> Tensor:
        if isinstance(gru, SteppedBiGRU):
            return gru(inputs, mask)[0]
        packed = pack_padded_sequence(inputs, lengths.cpu(), batch_first=True, enforce_sorted=False)
        return pad_packed_sequence(gru(packed)[0], batch_first=True)[0]

    def forward(self, sources: Tensor, lengths: Tensor, mask: Tensor) -> Tuple[Tensor, Tensor]:
        """The annotations [B,S,2H] and their backward half at the first token [B,H]."""
        annotations = self.run(self.gru, self.embedding(sources), lengths, mask)
        for gru in self.upper if self.config.encoder_layers > 1 else []:
            read = annotations
            annotations = self.run(gru, read, lengths, mask)
            if self.config.residual:
                annotations = annotations + read
        return annotations, annotations[:, 0, self.config.encoder_hidden :]


class Additive(nn.Module):
    """e_i = v_a . tanh(W_s s + W_h h_i + b_a)"""

    def __init__(self, state: int, annotation: int, units: int):
        super().__init__()
        self.query = nn.Linear(state, units, bias=False)
        self.key = nn.Linear(annotation, units)
        self.energy = nn.Linear(units, 1, bias=False)

    def keys(self, annotations: Tensor) -> Tensor:
        return self.key(annotations)

    def forward(self, state: Tensor, keys: Tensor) -> Tensor:
        return self.energy(torch.tanh(self.query(state).unsqueeze(1) + keys)).squeeze(-1)


class Concat(nn.Module):
    """e_i = v_a . tanh(W_a [s ; h_i])"""

    def __init__(self, state: int, annotation: int, units: int):
        super().__init__()
        self.concat = nn.Linear(state + annotation, units, bias=False)
        self.energy = nn.Linear(units, 1, bias=False)

    def keys(self, annotations: Tensor) -> Tensor:
        return annotations

    def forward(self, state: Tensor, keys: Tensor) -> Tensor:
        states = state.unsqueeze(1).expand(-1, keys.shape[1], -1)
        return self.energy(torch.tanh(self.concat(torch.cat([states, keys], dim=-1)))).squeeze(-1)


class Dot(nn.Module):
    """e_i = s . h_i"""

    def __init__(self, state: int, annotation: int, units: int):
        super().__init__()
        assert state == annotation

    def keys(self, annotations: Tensor) -> Tensor:
        return annotations

    def forward(self, state: Tensor, keys: Tensor) -> Tensor:
        return torch.bmm(keys, state.unsqueeze(2)).squeeze(2)


class ScaledDot(Dot):
    """e_i = s . h_i / sqrt(d)"""

    def forward(self, state: Tensor, keys: Tensor) -> Tensor:
        return super().forward(state, keys) / state.shape[-1] ** 0.5


class General(nn.Module):
    """e_i = s . W_a h_i"""

    def __init__(self, state: int, annotation: int, units: int):
        super().__init__()
        self.key = nn.Linear(annotation, state, bias=False)

    def keys(self, annotations: Tensor) -> Tensor:
        return self.key(annotations)

    def forward(self, state: Tensor, keys: Tensor) -> Tensor:
        return torch.bmm(keys, state.unsqueeze(2)).squeeze(2)


class Gaussian(nn.Module):
    """e_i = -|W_s s - W_h h_i|^2 / (2 w^2)"""

    def __init__(self, state: int, annotation: int, units: int):
        super().__init__()
        self.query = nn.Linear(state, units, bias=False)
        self.key = nn.Linear(annotation, units, bias=False)
        self.log_width = nn.Parameter(torch.zeros(1))

    def keys(self, annotations: Tensor) -> Tensor:
        return self.key(annotations)

    def forward(self, state: Tensor, keys: Tensor) -> Tensor:
        distance = (self.query(state).unsqueeze(1) - keys).square().sum(dim=-1)
        return -distance / (2 * self.log_width.exp().square())


SCORES = {
    "additive": Additive,
    "dot": Dot,
    "general": General,
    "concat": Concat,
    "scaled_dot": ScaledDot,
    "gaussian": Gaussian,
}


class Extent(nn.Module):
    """The source positions that a step sees, and the factor on their weights; positions and steps count from 0."""

    def __init__(self, config: Config):
        super().__init__()
        self.kind = config.attention_extent
        self.window = config.attention_window
        if self.kind == "local_p":
            self.hidden = nn.Linear(config.decoder_hidden, config.attention_size, bias=False)
            self.output = nn.Linear(config.attention_size, 1, bias=False)

    def forward(self, state: Tensor, memory: Memory, step: int) -> Tuple[Tensor, Optional[Tensor]]:
        """What is seen [B,S], and the factor [B,S] or none."""
        if self.kind == "global":
            return memory.mask, None
        if self.kind == "local_m":
            centre = torch.clamp(memory.lengths - 1, max=step).to(state.dtype)
        else:
            centre = memory.lengths * torch.sigmoid(self.output(torch.tanh(self.hidden(state)))).squeeze(1)
        distance = torch.arange(memory.mask.shape[1], device=state.device) - centre.unsqueeze(1)
        seen = memory.mask & (distance.abs() <= self.window)
        if self.kind == "local_m":
            return seen, None
        return seen, torch.exp(-distance.square() / (2 * (self.window / 2) ** 2))


class Attention(nn.Module):
    """c = sum_i alpha_i h_i with alpha = softmax(score(s, h_i)) over the extent; or of several heads, each through
    projections of its own, joined and projected back."""

    def __init__(self, config: Config):
        super().__init__()
        state, annotation, units = config.decoder_hidden, 2 * config.encoder_hidden, config.attention_size
        score = SCORES[config.attention_score]
        self.count = config.attention_heads
        self.extent = Extent(config)
        if self.count == 1:
            self.head = nn.ModuleList([score(state, annotation, units)])
            return
        size = units // self.count
        self.head = nn.ModuleList([score(size, size, size) for _ in range(self.count)])
        self.heads = nn.ModuleDict(
            {
                "query": nn.Linear(state, units, bias=False),
                "key": nn.Linear(annotation, units, bias=False),
                "value": nn.Linear(annotation, units, bias=False),
                "output": nn.Linear(units, annotation, bias=False),
            }
        )

    def split(self, name: str, inputs: Tensor) -> Tuple[Tensor, ...]:
        return (inputs,) if self.count == 1 else self.heads[name](inputs).chunk(self.count, dim=-1)

    def remember(self, annotations: Tensor, mask: Tensor, lengths: Tensor) -> Memory:
        keys = [head.keys(part) for head, part in zip(self.head, self.split("key", annotations))]
        return Memory(annotations, keys, list(self.split("value", annotations)), mask, lengths)

    def forward(self, state: Tensor, memory: Memory, step: int) -> Tuple[Tensor, Tensor]:
        """The context [B,2H] and the weights alpha [B,S], the mean of the heads."""
        seen, factor = self.extent(state, memory, step)
        read, alphas = [], []
        for head, query, keys, values in zip(self.head, self.split("query", state), memory.keys, memory.values):
            alpha = head(query, keys).masked_fill(~seen, float("-inf")).softmax(dim=-1)
            if factor is not None:
                alpha = alpha * factor
            read.append(torch.bmm(alpha.unsqueeze(1), values).squeeze(1))
            alphas.append(alpha)
        if self.count == 1:
            return read[0], alphas[0]
        return self.heads["output"](torch.cat(read, dim=-1)), torch.stack(alphas).mean(dim=0)


class FixedContext(nn.Module):
    """The baseline that attention replaced: c = [h_S-> ; h_1<-] at every step. Either end is half the alignment."""

    def __init__(self, config: Config):
        super().__init__()
        self.units = config.encoder_hidden

    def remember(self, annotations: Tensor, mask: Tensor, lengths: Tensor) -> Memory:
        return Memory(annotations, [], [], mask, lengths)

    def forward(self, state: Tensor, memory: Memory, step: int) -> Tuple[Tensor, Tensor]:
        sentences = torch.arange(len(memory.lengths), device=state.device)
        ahead = memory.annotations[sentences, memory.lengths - 1, : self.units]
        back = memory.annotations[:, 0, self.units :]
        ends = one_hot(memory.lengths - 1, memory.mask.shape[1]).to(state.dtype)
        ends[:, 0] += 1
        return torch.cat([ahead, back], dim=-1), ends / 2


class Decoder(nn.Module):
    def __init__(self, config: Config):
        super().__init__()
        annotation = 2 * config.encoder_hidden
        self.config = config
        self.units = config.decoder_hidden
        if config.initial_state == "backward":
            self.initial = nn.Linear(config.encoder_hidden, config.decoder_hidden)
        elif config.initial_state == "mean":
            self.initial = nn.Linear(annotation, config.decoder_hidden)
        self.embedding = nn.Embedding(config.target_vocabulary, config.target_embedding)
        fed = annotation
        if config.order == "luong":
            fed = config.decoder_hidden if config.input_feeding else 0
            self.combination = nn.Linear(annotation + config.decoder_hidden, config.decoder_hidden, bias=False)
        elif config.order == "conditional":
            fed = 0
            self.gru2 = make_cell(config, annotation, config.decoder_hidden)
        self.gru = make_cell(config, config.target_embedding + fed, config.decoder_hidden)
        if config.decoder_layers > 1:
            more = range(config.decoder_layers - 1)
            self.upper = nn.ModuleList([make_cell(config, self.units, self.units) for _ in more])

    def start(self, annotations: Tensor, backward: Tensor, lengths: Tensor) -> State:
        zeros = s = backward.new_zeros(backward.shape[0], self.units)
        if self.config.initial_state == "mean":
            s = torch.tanh(self.initial(annotations.sum(dim=1) / lengths.unsqueeze(1)))
        elif self.config.initial_state == "backward":
            s = torch.tanh(self.initial(backward))
        return State(s, zeros, (s,) * (self.config.decoder_layers - 1))

    def climb(self, s: Tensor, states: Tuple[Tensor, ...]) -> Tuple[Tensor, Tuple[Tensor, ...]]:
        """What the last layer gives, and the new states of those above the first."""
        output, new = s, []
        for cell, state in zip(self.upper if states else [], states):
            new.append(cell(output, state))
            output = new[-1] + output if self.config.residual else new[-1]
        return output, tuple(new)

    def forward(
        self, embedded: Tensor, state: State, attention: nn.Module, memory: Memory, step: int
    ) -> Tuple[List[Tensor], State, Tensor]:
        """One step: the features that the readout sees besides the embedding, the new state, and the weights alpha."""
        return getattr(self, self.config.order)(embedded, state, attention, memory, step)

    def bahdanau(self, embedded, state, attention, memory, step):
        context, alpha = attention(state.s, memory, step)
        s = self.gru(torch.cat([embedded, context], dim=-1), state.s)
        output, upper = self.climb(s, state.upper)
        seen = state.s if self.config.readout_state == "previous" else output
        return [seen, context], State(s, state.attentional, upper), alpha

    def luong(self, embedded, state, attention, memory, step):
        fed = [embedded, state.attentional] if self.config.input_feeding else [embedded]
        s = self.gru(torch.cat(fed, dim=-1), state.s)
        output, upper = self.climb(s, state.upper)
        context, alpha = attention(output, memory, step)
        attentional = torch.tanh(self.combination(torch.cat([context, output], dim=-1)))
        return [attentional], State(s, attentional, upper), alpha

    def conditional(self, embedded, state, attention, memory, step):
        between = self.gru(embedded, state.s)
        context, alpha = attention(between, memory, step)
        s = self.gru2(context, between)
        output, upper = self.climb(s, state.upper)
        return [output, context], State(s, state.attentional, upper), alpha


class Readout(nn.Module):
    """Logits from the features, [s ; c ; E y_{t-1}] or the attentional state, for any number of steps at once."""

    def __init__(self, config: Config):
        super().__init__()
        self.form = config.readout
        self.embedding = config.readout_embedding and config.order != "luong"
        features = config.decoder_hidden + (2 * config.encoder_hidden if config.order != "luong" else 0)
        if self.embedding:
            features += config.target_embedding
        if config.readout == "tanh":
            self.hidden = nn.Linear(features, config.readout_size, bias=not config.layer_normalization)
        elif config.readout == "maxout":
            self.hidden = nn.Linear(features, 2 * config.readout_size, bias=False)
        self.norm = None
        if config.layer_normalization and config.readout != "linear":
            self.norm = nn.LayerNorm(self.hidden.out_features)
        outputs = features if config.readout == "linear" else config.readout_size
        self.output = nn.Linear(outputs, config.target_vocabulary)

    def forward(self, parts: List[Tensor], embedded: Tensor) -> Tensor:
        features = torch.cat([*parts, embedded] if self.embedding else parts, dim=-1)
        if self.form != "linear":
            features = self.hidden(features)
            features = features if self.norm is None else self.norm(features)
        if self.form == "tanh":
            features = torch.tanh(features)
        elif self.form == "maxout":
            features = features.unflatten(-1, (-1, 2)).amax(dim=-1)  # neighbours compete
        return self.output(features)


class Translator(nn.Module):
    def __init__(self, config: Config):
        super().__init__()
        self.encoder = Encoder(config)
        self.attention = (FixedContext if config.attention_score == "fixed" else Attention)(config)
        self.decoder = Decoder(config)
        self.readout = Readout(config)
        if config.tied_embeddings == "all":
            self.decoder.embedding = self.encoder.embedding
        if config.tied_embeddings != "none":
            self.readout.output.weight = self.decoder.embedding.weight

    def encode(self, sources: Tensor, lengths: Tensor) -> Tuple[Memory, State]:
        """What the decoder attends to, and its first state."""
        mask = torch.arange(sources.shape[1], device=sources.device) < lengths.unsqueeze(1)
        annotations, backward = self.encoder(sources, lengths, mask)
        return self.attention.remember(annotations, mask, lengths), self.decoder.start(annotations, backward, lengths)

    def forward(self, batch: Batch) -> Tuple[Tensor, Tensor]:
        """Teacher forcing: the logits [B,T,V] and the attention [B,T,S] of every step."""
        memory, state = self.encode(batch.sources, batch.source_lengths)
        embedded = self.decoder.embedding(batch.inputs)
        features, alphas = [], []
        for step, word in enumerate(embedded.unbind(dim=1)):
            parts, state, alpha = self.decoder(word, state, self.attention, memory, step)
            features.append(parts)
            alphas.append(alpha)
        return self.readout([torch.stack(part, dim=1) for part in zip(*features)], embedded), torch.stack(alphas, dim=1)

    def loss(self, batch: Batch) -> Tensor:
        """-sum log p over all target tokens, in nats."""
        return self.loss_and_objective(batch)[0]

    def loss_and_objective(self, batch: Batch, coverage: float = 0) -> Tuple[Tensor, Tensor]:
        """The loss, and the same with the coverage penalty."""
        logits, alpha = self(batch)
        nats = cross_entropy(logits.flatten(0, 1), batch.labels.flatten(), ignore_index=NO_LABEL, reduction="sum")
        if coverage == 0:
            return nats, nats
        covered = (alpha * (batch.labels != NO_LABEL).unsqueeze(-1)).sum(dim=1)
        own = torch.arange(alpha.shape[2], device=alpha.device) < batch.source_lengths.unsqueeze(1)
        return nats, nats + coverage * ((1 - covered).clamp(min=0) * own).sum()

    @torch.no_grad()
    def greedy(self, batch: Batch, limit: int) -> Tuple[List[List[int]], float]:
        """The likeliest token at each step until </s> or `limit` tokens, for each source; and the smallest lead that a
        chosen token had over the second."""
        memory, state = self.encode(batch.sources, batch.source_lengths)
        tokens = torch.full_like(batch.source_lengths, START)
        outputs = [[] for _ in tokens]
        going = torch.ones_like(tokens, dtype=torch.bool)
        smallest_lead = float("inf")
        for step in range(limit):
            embedded = self.decoder.embedding(tokens)
            features, state, _ = self.decoder(embedded, state, self.attention, memory, step)
            logits = self.readout(features, embedded)
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
            "attention.extent.": "attention.centre.",
            ".key.bias": ".bias",
            "readout.norm.weight": "readout.hidden.gain",
            "readout.norm.bias": "readout.hidden.bias",
        }
        layers = {"encoder.gru.": "encoder."}
        for layer in range(2, 1 + max(self.decoder.config.encoder_layers, self.decoder.config.decoder_layers)):
            layers[f"encoder.upper.{layer - 2}."] = f"encoder.layer{layer}."
            renamed[f"decoder.upper.{layer - 2}."] = f"decoder.layer{layer}."
        for here, there in layers.items():
            renamed[f"{here}ahead."] = f"{there}forward."
            renamed[f"{here}back."] = f"{there}backward."
            for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
                renamed[f"{here}{part}_l0_reverse"] = f"{there}backward.{part}"
                renamed[f"{here}{part}_l0"] = f"{there}forward.{part}"
        heads = self.decoder.config.attention_heads
        for head in range(heads):
            renamed[f"attention.head.{head}."] = "attention." if heads == 1 else f"attention.head{head + 1}."
        named = []
        for name, parameter in self.named_parameters():
            for here, there in renamed.items():
                name = name.replace(here, there)
            named.append((name, parameter))
        return named
