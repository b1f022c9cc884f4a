"""Recognises a recurrence by what it computes: LSTM, GRU, a recurrence with tanh alone, and linear ones.

The results of all sigmoids and tanhs are replaced by numbers that differ. The states after the step then tell which of them
multiplies what, in whatever order and spelling the gates are written. What the gates read must be affine in the states and
the inputs. Its matrices are exact: no gate is inverted. All is checked on random numbers.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ..errors import Refused
from .cell import OPEN, Cell
from .parts import EXACT, Parts
from .region import Region, evaluated, jacobian


def matched(value: Tensor, among: Tensor) -> tuple[int, bool]:
    """Which of the numbers it is, or 1 less which."""
    for flipped, numbers in ((False, among), (True, 1 - among)):
        if len(numbers) and float((numbers - value).abs().min()) < EXACT:
            return int((numbers - value).abs().argmin()), flipped
    raise Refused("no gate multiplies its state")


def one(row: Tensor) -> int:
    """The only place of a row that is not zero."""
    found = (row.abs() > EXACT).nonzero().flatten()
    if len(found) != 1:
        raise Refused("several states meet outside of the gates")
    return int(found[0])


@evaluated
def recognised(region: Region) -> Cell:
    """Raises Refused with what was found."""
    if torch.isin(region.cycle.after, region.cycle.states).any():
        return linear(region)
    if not region.gates:
        return linear(region)
    parts = Parts(region)
    by_state = jacobian(lambda h: parts.after(h, parts.s, parts.t), parts.h)
    by_tanh = jacobian(lambda t: parts.after(parts.h, parts.s, t), parts.t)
    kept = by_state.diagonal().abs() > EXACT
    if bool((by_state - torch.diag(by_state.diagonal())).abs().max() > EXACT):
        raise Refused(f"states of one step meet outside of the gates: {region.kinds()}")
    if bool(kept.all()):
        return gru(parts, by_state.diagonal(), by_tanh)
    if not bool(kept.any()):
        return plain(parts, by_tanh)
    return lstm(parts, kept, by_state.diagonal(), by_tanh)


def affine(parts: Parts, places: Tensor, with_gates: str = "random") -> tuple[Tensor, Tensor, Tensor]:
    """What gates read, as (matrix of the inputs, matrix of the states, bias). `with_gates`: values of the gates that it may read."""
    matrix, bias, wrong = parts.read(with_gates)
    row = parts.row[places]
    if bool(wrong[row].any()):
        raise Refused("a gate reads more than a matrix of the states and the inputs")
    n = parts.region.n_inputs
    return matrix[row, :n], matrix[row, n:], bias[row]


def signed(rows: tuple[Tensor, Tensor, Tensor], flipped: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """1 - sigmoid(x) is sigmoid(-x)."""
    sign = torch.where(flipped, -1.0, 1.0).to(torch.float64)
    first, second, third = (r * (sign[:, None] if r.dim() > 1 else sign) for r in rows)
    return first, second, third


def of_sigmoids(parts: Parts, found: list[tuple[int, bool]]) -> tuple[Tensor, Tensor, Tensor]:
    index, flipped = (torch.tensor(list(column)) for column in zip(*found))
    places = parts.s_places[index]
    first, again = affine(parts, places), affine(parts, places, "other")
    if any(float((a - b).abs().max()) > EXACT for a, b in zip(first, again) if a.numel()):
        raise Refused("a gate reads another gate")
    return signed(first, flipped)


def lstm(parts: Parts, kept: Tensor, by_own: Tensor, by_tanh: Tensor) -> Cell:
    region = parts.region
    cells, hidden = kept.nonzero().flatten().tolist(), (~kept).nonzero().flatten().tolist()
    if len(cells) != len(hidden):
        raise Refused(f"{len(cells)} states are kept and {len(hidden)} are new")
    read = parts.t_places
    after = {int(region.after[c]): k for k, c in enumerate(cells)}  # place of a cell after the step -> its number
    order, output = [0] * len(cells), [(0, False)] * len(cells)
    for state in hidden:  # o * tanh(c)
        column = one(by_tanh[state])
        k = after.get(int(read[column]))
        if k is None:
            raise Refused("the new state is not a gate times the tanh of the cell")
        order[k], output[k] = state, matched(by_tanh[state, column], parts.s)
    forget, new, update = [], [], []
    for state in cells:  # f * c + i * tanh(g)
        forget.append(matched(by_own[state], parts.s))
        new.append(one(by_tanh[state]))
        update.append(matched(by_tanh[state, new[-1]], parts.s))
    gates = {"i": of_sigmoids(parts, update), "f": of_sigmoids(parts, forget), "o": of_sigmoids(parts, output)}
    gates["g"] = affine(parts, read[torch.tensor(new)])
    w, u, bias = (torch.cat([gates[g][part] for g in "ifgo"]) for part in range(3))
    if len(cells) and bool(u[:, cells].abs().max() > EXACT):
        raise Refused("a gate reads the cell state (peephole)")
    cell = Cell("lstm", w, bias, u[:, order], region.cycle.after[order])
    return checked(parts, cell, (order, cells))


def gru(parts: Parts, by_own: Tensor, by_tanh: Tensor) -> Cell:
    """(1 - z) * n + z * h with n = tanh(W x + b + r * (U h + d)), or n = tanh(W x + b + U (r * h))."""
    region, units = parts.region, len(by_own)
    update = [matched(v, parts.s) for v in by_own]
    new = torch.tensor([one(row) for row in by_tanh])
    if float((by_tanh[torch.arange(units), new] - (1 - by_own)).abs().max()) > EXACT:
        raise Refused("the new value is not weighed by 1 less the gate of the old one")
    wz, uz, bz = of_sigmoids(parts, update)
    places = parts.t_places[new]
    n = region.n_inputs
    none, full = affine(parts, places, "closed"), affine(parts, places, "open")
    inside, u, after = full[2] - none[2], full[1] - none[1], True
    if float((full[0] - none[0]).abs().max() if n else 0) > EXACT:
        raise Refused("the reset gate multiplies the inputs")
    if float(none[1].abs().max()) > EXACT:  # no gate in front of the states
        if float(u.abs().max()) > EXACT or float(inside.abs().max()) > EXACT:
            raise Refused("the new value reads the state with and without a gate")
        wr, ur, br = torch.zeros_like(wz), torch.zeros_like(uz), torch.full_like(bz, OPEN)
        u = none[1]
    else:
        part = affine(parts, places)
        ratio, unread, after = resets(part[1] - none[1], u, part[2] - none[2], inside)
        reset = [(0, False) if bool(skip) else matched(v, parts.s) for v, skip in zip(ratio, unread)]
        wr, ur, br = of_sigmoids(parts, reset)
    cell = Cell(
        "gru",
        torch.cat([wr, wz, none[0]]),
        torch.cat([br, bz, none[2]]),
        torch.cat([ur, uz, u]),
        region.cycle.after,
        inside,
        resets_after=after,
    )
    return checked(parts, cell, (list(range(units)),))


def resets(gate: Tensor, u: Tensor, inside: Tensor, whole: Tensor) -> tuple[Tensor, Tensor, bool]:
    """Which number multiplies each element, which of them nothing reads, and whether they multiply the product.

    `gate`: the matrix of the states with all gates replaced by numbers, `u`: with gates of 1. `inside`, `whole`: the same of
    the bias."""
    own = torch.arange(len(u))
    for axis in (1, 0):  # rows of the product, or the states
        silent = u.abs().amax(axis) <= EXACT  # its reset gate has no effect beside the bias
        largest = u.abs().argmax(axis)
        at = (own, largest) if axis == 1 else (largest, own)
        ratio = gate[at] / torch.where(silent, 1, u[at])
        if axis == 1:
            ratio = torch.where(silent, inside / torch.where(whole == 0, 1, whole), ratio)
            silent = silent & (whole.abs() <= EXACT)
        elif bool((whole.abs() > EXACT).any()):
            break
        if float((gate - u * ratio.unsqueeze(axis)).abs().max()) <= EXACT:
            return ratio, silent, axis == 1
    raise Refused("the reset gate multiplies neither the state nor its product with the matrix")


def plain(parts: Parts, by_tanh: Tensor) -> Cell:
    """tanh(W x + U h + b), as a GRU whose gates stay open: the old value has no weight, and the product all."""
    region = parts.region
    new = torch.tensor([one(row) for row in by_tanh])
    if float((by_tanh[torch.arange(len(new)), new] - 1).abs().max()) > EXACT:
        raise Refused("the new state is neither a tanh nor that of an LSTM or GRU")
    w, u, bias = affine(parts, parts.t_places[new])
    zero, none = torch.zeros_like(w), torch.zeros_like(u)
    cell = Cell(
        "gru",
        torch.cat([zero, zero, w]),
        torch.cat([torch.full_like(bias, OPEN), torch.full_like(bias, -OPEN), bias]),
        torch.cat([none, none, u]),
        region.cycle.after,
        torch.zeros_like(bias),
    )
    return checked(parts, cell, (list(range(len(new))),))


def linear(region: Region) -> Cell:
    n, parts = region.n_inputs, Parts(region)

    def after(x: Tensor) -> Tensor:
        return region.result(x[:n], x[n:])

    x = torch.cat([parts.u, parts.h])
    bias, matrix = after(torch.zeros_like(x)), jacobian(after, x)
    if float((matrix @ x + bias - after(x)).abs().max()) > EXACT * (1 + float(after(x).abs().max())):
        raise Refused(f"a recurrence through {region.kinds()} has no op")
    own = matrix[:, n:]
    if float((own - torch.diag(own.diagonal())).abs().max()) > EXACT:
        raise Refused("a linear recurrence whose states mix: h = A h + B x has an op for a diagonal A only")
    if float(own.diagonal().abs().max()) > 1 + EXACT:
        raise Refused(f"its state grows by {float(own.diagonal().abs().max()):.3g} in each step")
    cell = Cell("scan", matrix[:, :n], bias, torch.empty(0), region.cycle.after, decay=own.diagonal().clone())
    return checked(parts, cell, (list(range(len(own))),))


def checked(parts: Parts, cell: Cell, states: tuple[list[int], ...]) -> Cell:
    """`states`: places of h, and of c, among the states of the region."""
    region, random = parts.region, torch.Generator().manual_seed(5)
    for size in (0.3, 1.0, 3.0):
        u, h = (
            size * torch.randn(count, dtype=torch.float64, generator=random)
            for count in (region.n_inputs, region.n_states)
        )
        expected = region.result(u, h)
        found = cell.step(u, tuple(h[part] for part in states))
        if any(float((f - expected[part]).abs().max()) > 1e-10 for f, part in zip(found, states)):
            raise Refused("its gates look like those of a cell, and it computes something else")
    cell.states = states
    return cell
