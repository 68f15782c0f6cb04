"""From texts that go on to arrays of tokens, with a note of which tokens are learned."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from rota.data._arrays import ArrayWriter
from rota.data._examples import Continued, Turn
from rota.data._files import Tally
from rota.data._tokenizer import Tokenizer
from rota.errors import RotaError

CHUNK = 1000  # examples that are tokenised at once
PROMPT_CUT, COMPLETION_CUT, IN_PIECES = "prompt truncated", "completion truncated", "read in several pieces"
CUTS = (PROMPT_CUT, COMPLETION_CUT, IN_PIECES)
"""What may happen to a long text; `side_cut` has the number of it, from 1 on."""

# Arrays of a split. Flat: one entry per token of all rows after each other; ends: where each row ends in them.
#   tokens, learned (whether a token has a loss), ends, prompt (tokens before the last completion), side_tokens (learned
#   ones), side_cut, reference (bytes of the last completion) with its ends;
#   option_tokens with option_ends, options (how many each row has), right (which of them is the completion).


@dataclass(frozen=True)
class _Row:
    tokens: list[int]
    learned: list[bool]
    prompt: int
    cut: int = 0


def encode_continued(
    examples: Iterable[Continued], tokenizer: Tokenizer, longest: int, writer: ArrayWriter, tally: Tally
) -> None:
    """Tokenise examples and write their arrays.

    Args:
        examples: Texts that go on.
        tokenizer: Cuts the texts.
        longest: Most tokens in a row. Of a longer one the prompt loses its beginning; if that is not enough, the
            completion loses its end. A long plain text makes several rows.
        writer: Takes the arrays.
        tally: Counts what was cut.
    """
    iterator, begin = iter(examples), tokenizer.begin
    while chunk := list(itertools.islice(iterator, CHUNK)):
        pairs = [example for example in chunk if not example.turns]
        prompts = iter(_ids(tokenizer, [own.prompt for own in pairs], beginning=True))
        completions = iter(_ids(tokenizer, [unmarked(own.completion, tokenizer) for own in pairs]))
        for example in chunk:
            if example.turns:
                found = [_fitting_turns(*turns_tokens(example.turns, tokenizer, example.where), longest, begin)]
            elif example.prompt:
                found = [_fitting(next(prompts), next(completions) + _end(tokenizer), longest, begin)]
            else:
                found = _pieces(next(prompts) + next(completions) + _end(tokenizer), longest)
            for row in found:
                _write(row, example, tokenizer, writer)
                tally.add(CUTS[row.cut - 1], int(row.cut > 0))
            if example.choices:
                _write_choices(example, tokenizer, longest, writer)


def prompt_tokens(example: Continued, tokenizer: Tokenizer) -> list[int]:
    """The tokens after which an answer is to be generated."""
    if not example.turns:
        return _ids(tokenizer, [example.prompt], beginning=True)[0]
    _refuse_without_template(tokenizer, example.where)
    said = [{"role": role, "content": content} for role, content in example.turns]
    text = tokenizer.fast.apply_chat_template(said, tokenize=False, add_generation_prompt=True)
    return _ids(tokenizer, [text])[0]


def turns_tokens(turns: Sequence[Turn], tokenizer: Tokenizer, where: str) -> tuple[list[int], list[bool]]:
    """The tokens of a conversation in the chat template, and which of them the assistant says, with the token that ends
    what it says."""
    _refuse_without_template(tokenizer, where)
    said = [{"role": role, "content": content} for role, content in turns]

    def told(count: int, answering: bool = False) -> str:
        text: str = tokenizer.fast.apply_chat_template(said[:count], tokenize=False, add_generation_prompt=answering)
        return text

    whole, ranges = told(len(said)), []
    for number, (role, _) in enumerate(turns):
        if role == "assistant":
            before, after = told(number, answering=True) if number else "", told(number + 1)
            if not (whole.startswith(after) and after.startswith(before)):
                raise RotaError(
                    f"{where}: expected a chat template that leaves earlier messages as they are. Found one of "
                    f"'{tokenizer.encoder}' that changes them. Give prompts and completions instead of messages."
                )
            ranges.append((len(before), len(after)))
    edges = [0, *itertools.chain.from_iterable(ranges), len(whole)]
    parts = _ids(tokenizer, [whole[begin:end] for begin, end in itertools.pairwise(edges)])
    ids, learned = list[int](), list[bool]()
    for number, part in enumerate(parts):  # cut apart, as prompts are when an answer is asked for
        said_here = len(part) if number % 2 else 0
        if number % 2 and tokenizer.end in part:  # what a template puts behind it is not learned
            said_here = part.index(tokenizer.end) + 1
        ids += part
        learned += [place < said_here for place in range(len(part))]
    return ids, learned


def unmarked(completion: str, tokenizer: Tokenizer) -> str:
    """A completion without a mark of its end, for which the tokenizer has its own.

    Published completions often end in one, such as <|endoftext|>."""
    for mark in tokenizer.marks:
        completion = completion.removesuffix(mark)
    return completion


def _refuse_without_template(tokenizer: Tokenizer, where: str) -> None:
    if not tokenizer.fast.chat_template:
        raise RotaError(
            f"{where}: messages expect a model with a chat template. Found none in '{tokenizer.encoder}'. Use one that "
            f"was trained to chat, or give prompts and completions."
        )


def _ids(tokenizer: Tokenizer, texts: list[str], beginning: bool = False) -> list[list[int]]:
    """The tokens of texts; at the beginning of a row with the token that the tokenizer puts there, if any."""
    if not texts:
        return []
    found: list[list[int]] = tokenizer.fast(texts, add_special_tokens=beginning)["input_ids"]
    return [own[:-1] if beginning and own and own[-1] == tokenizer.end else own for own in found]


def _end(tokenizer: Tokenizer) -> list[int]:
    return [] if tokenizer.end is None else [tokenizer.end]


def _fitting(prompt: list[int], completion: list[int], longest: int, begin: int | None) -> _Row:
    """A row; the token that begins every text is kept in a prompt that is cut."""
    cut = 0
    if len(prompt) + len(completion) > longest:
        cut = 1 + CUTS.index(PROMPT_CUT)
        if len(completion) > longest - 1:
            completion, cut = completion[: longest - 1], 1 + CUTS.index(COMPLETION_CUT)
        rest = prompt[len(prompt) + len(completion) - longest :]
        prompt = [*prompt[:1], *rest[1:]] if prompt[0] == begin and len(rest) > 1 else rest
    learned = [False] * len(prompt) + [True] * len(completion)
    return _Row(prompt + completion, learned, len(prompt), cut)


def _fitting_turns(tokens: list[int], learned: list[bool], longest: int, begin: int | None) -> _Row:
    cut = 1 + CUTS.index(PROMPT_CUT) if len(tokens) > longest else 0
    first, (tokens, learned) = tokens[0], (tokens[-longest:], learned[-longest:])
    if cut and first == begin:
        tokens, learned = [first, *tokens[1:]], [False, *learned[1:]]
    last = len(learned)
    while last and not learned[last - 1]:
        last -= 1
    while last and learned[last - 1]:
        last -= 1
    return _Row(tokens, learned, last, cut)


def _pieces(tokens: list[int], longest: int) -> list[_Row]:
    """A plain text in rows, each of which begins with the last token of the one before, so that every token but the
    first is learned once."""
    starts = range(0, max(1, len(tokens) - 1), longest - 1)
    parts = [tokens[start : start + longest] for start in starts]
    cut = 1 + CUTS.index(IN_PIECES) if len(parts) > 1 else 0
    return [_Row(part, [k > 0 for k in range(len(part))], 0, cut) for part in parts]


def _write(row: _Row, example: Continued, tokenizer: Tokenizer, writer: ArrayWriter) -> None:
    count = np.array([len(row.tokens)], dtype=np.int64)
    writer.add("ends", writer.ends("tokens", count))
    writer.add("tokens", np.array(row.tokens, dtype=np.int32))
    writer.add("learned", np.array(row.learned, dtype=np.uint8))
    writer.add("prompt", np.array([row.prompt], dtype=np.int64))
    writer.add("side_tokens", np.array([sum(row.learned[1:])], dtype=np.int64))
    writer.add("side_cut", np.array([row.cut], dtype=np.uint8))
    for name, value in example.side.items():
        writer.add(f"side_{name}", np.array([value]))
    said = [content for role, content in example.turns if role == "assistant"]
    packed = unmarked(said[-1] if said else example.completion, tokenizer).strip().encode()
    writer.add("reference_ends", writer.ends("reference", np.array([len(packed)], dtype=np.int64)))
    writer.add("reference", np.frombuffer(packed, dtype=np.uint8))


def _write_choices(example: Continued, tokenizer: Tokenizer, longest: int, writer: ArrayWriter) -> None:
    said = [content for role, content in example.turns if role == "assistant"]
    right = example.choices.index(said[-1] if said else example.completion)
    found = _ids(tokenizer, [unmarked(choice, tokenizer) for choice in example.choices])
    tokens = [(own + _end(tokenizer))[: longest - 1] for own in found]
    lengths = np.array([len(own) for own in tokens], dtype=np.int64)
    writer.add("option_ends", writer.ends("option_tokens", lengths))
    writer.add("option_tokens", np.array(list(itertools.chain.from_iterable(tokens)), dtype=np.int32))
    writer.add("options", np.array([len(tokens)], dtype=np.int64))
    writer.add("right", np.array([right], dtype=np.int64))
