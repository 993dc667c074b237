"""Check a proof of differential privacy: the claim must follow from the data of a file, by rules in this file.

    python -I independent_check.py FILE...        (exit code 0: all claims follow, 1: one does not, 2: no such file)

It needs Python 3.11 or later and nothing else, computes with whole numbers and fractions (no float anywhere), and
counts its work, so that it ends on every file (a minute or two at worst). It prints from a file only numbers, words
of the closed vocabularies below and names of symbols; names of releases and records are given as their places in the
file.

THE FORMAT, version 1: JSON in UTF-8, at most 4 MB; each object has exactly the keys listed here, none of them twice.

{"format": "dpwitness proof, version 1",
 "claim": {"relation": R, "unit": U, and "epsilon": x, "delta": x or "mu_squared": x or "rho": x},
 "symbols": {"K": {"least": x, "whole": true | false}, ...},
 "releases": {"name": {"domain": D, "steps": [S, ...], "terms": n, "mechanism": M, "charged": C}, ...},
 "records": {"name": {"name of a release": n, ...}, ...},
 "theorem": {"name": "basic", "epsilon": x, "delta": x} | {"name": "zcdp", "rho": x} | {"name": "gdp", "mu_squared": x}
            | {"name": "plan", "resolution": 4 .. 16},
 "tested": anything, which is not looked at}

numbers    x is a whole number, "a/b" (whole numbers, b > 0), a symbol, or a formula ["+" | "-" | "*" | "/", x, x]; n
           is a whole one, of symbols a polynomial in whole symbols. Floats, exponents, NaN, true and 1/0 are no
           numbers.
symbols    range over all numbers from `least` (whole ones) or above it (real ones); `least` may use symbols before.
relation   "replace one", "add or remove one", "zero out" (replaced by a record that contributes nothing).
unit       "one report", or "one person": then `records` lists all that one person's reports may be part of.
releases   each form of release that a record can be part of. A domain {"kind", "low", "high", "size"} says where one
           record's value lies: see `StatedDomain`. A step {"op", parameters, "into": D} maps it; "into" must hold
           the image, and only the last domain counts. Then so many `terms` of one record are in the sum that is
           released. `charged` is an accountant's price of it, in the currency of the theorem (of a plan: {}).
steps      affine (factor, shift), clip (low, high), choose (index), linear (matrix), round (low, high: to whole
           numbers between), above, first above (any public threshold; the size if no coordinate is), one-hot,
           category of one-hot, category of bits, table (entries): see `STEPS`.
records    for EVERY kind of record, how many releases of each form it is part of at most.
theorem    the enforced limit: no record pays more than this budget ("basic", "zcdp", "gdp": by `charged`), or no
           record is part of more releases than its kind of record lists ("plan"; the resolution decides how tight it
           is).
mechanism  {"kind", parameters}: see `MECHANISMS`. "poisson sample" and "fixed size sample" (rate, of) take the domain
           of one record; "tree counter" (levels: the nodes that hold one record, of), "square root counter" and
           "banded counter" (horizon, participations, separation, bandwidth, of) release all running sums; "noisy max"
           has Laplace or exponential noise (permute and flip); "binomial" (trials, ones, probability) multiplies
           values by ones before it adds the noise; "sparse vector" draws the noise of its threshold once. Kinds
           "stated ..." are taken as they stand.

REFUSED, as no rule is known: theorems "advanced" and "renyi"; propose-test-release; mixtures of Gaussians; batches
that are truncated, or of shuffled records; shuffled messages, but as binomial noise; counters with buffers (one needs
bounds of the inverse of a recurrence, and that its columns fall: a page of proof, but no room in a file of this size);
Toeplitz counters with other than Gaussian noise; a Poisson sample with a record replaced, of other than Gaussian and
Laplace noise; samples of noise on several whole numbers, of counters and of samples; randomized response of sums, or
of records that are added; Laplace noise on moments; groups of records; stated curves. A stream of running sums
(banded, buffered) may be listed as Gaussian noise on entries, an affine step multiplying each by how much longer it
makes the record's column of R [L11]: then these factors are the file's word, like domains and terms.

PROOFS. For laws P, Q let h(t) = sup_E P(E) - t Q(E) = E_P (1 - t/r)^+, r = dP/dQ; delta(epsilon) is h at t =
e^epsilon, of both orders of the neighbours. For a measure m on (0, inf] let h_m(t) = int (1 - t/u)^+ dm(u). m is
above m' if h_m >= h_m'.

L1 h of a product is int h_m(t/v) dm'(v) (Tonelli), so products of measures that are above are above. Raising masses
   and moving them to larger u is above, as (1 - t/u)^+ increases in u.
L2 Nodes t_0 < ... < t_n, y_i >= h(t_i), y_0 >= ... >= y_n, y_{-1} = 1, t_{-1} = 0, slopes s_i = (y_i - y_{i-1}) /
   (t_i - t_{i-1}), s_{n+1} = 0. Masses t_i max(0, s_{i+1} - s_i) at t_i and y_n at inf are above every h that is
   convex, decreasing and h(0) <= 1: at t_j they give >= y_n - sum_{i>j} s_i (t_i - t_{i-1}) = y_j, between nodes they
   are linear, h is convex. Any nodes will do. `coarser` is this for (1 - t/u)^+ of an odd place between two even
   ones.
L3 Laplace noise moved by a vector: v -> int min(f(y - v), t f(y)) dy is log-concave (Prekopa), so h is largest where
   the L1 movement is in one coordinate: 1 - e^((L - l)/2). Gaussian: Q'(L/mu - mu/2) - e^L Q'(L/mu + mu/2), Q' the
   upper tail. Responses: the sets {x}, all but {x'}, all. Whole noise with log-concave weights w, T(m) = P(Z >= m):
   w(m - x) / w(m) increases in m, so h = T(m - x) - t T(m) at the first m where it is >= t, found exactly; it increases
   in x > 0, and coordinates are independent. Noise that is not symmetric: moved by -x the order is the other, 1 - t +
   t h(1/t); the larger of both curves is convex and decreasing, so it has a measure, whichever way each one moves.
   rho = mu^2 / 2 of Gaussian noise; of discrete Gaussian noise, too: sum e^(-(z-c)^2 / 2 s^2) over whole z is largest
   at whole c (Poisson summation).
L4 Bounds of exp, log and the tail: beside the code. `exp`: fewer than 60 terms are off by 2 guard units each,
   squaring m times doubles m times. `log`: if |e^l - v| <= off then |ln v - l| <= off / (min(e^l, v) - off). `tail`:
   1/2 - phi(x) sum x^(2n+1) / (2n+1)!!, floors cost at most 2 N e^(x^2/2) guard units in N < 2^13 terms, times phi;
   above 16, e^(-x^2/2) / 40. Weights of whole noise, 1 at the mode, k steps from it: factors are off by at most 11 +
   12 k units, so weights by 12 k^2, all of n together by 12 n^3. As they are log-concave, those beyond one of w < 1/e
   fall by a factor r <= w^(1/k), so they are at most w r / (1 - r) <= w k together.
L5 Everything is rounded so that curves and masses only grow; products of masses are checked modulo a prime at a
   random point.
L7 One record moves a sum by the difference of two values of its domain (replaced), or by one value (added, removed,
   zeroed): corners of boxes, 2 unit vectors, diameters of balls; moments (M, w u), M - u u' >= 0, tr M <= 1, as x x'
   and w x y, |x|, |y| <= 1: for two of them, c = u'v, |M - N|^2 + w^2 |u - v|^2 <= 2 + 2 w^2 - 2 c^2 - 2 w^2 c,
   largest at c = -w^2 / 2, as <M, N> >= c^2; with 2^-24 d of rounding in every eigenvalue the trace is at most a = 1 +
   (d + 2) d / 2^24, and the square 2 a^2 + 2 w^2 a + w^4 / 2. Each step's image holds the images of all points:
   corners, or Hoelder's inequality.
L8 Substitute x = least + x'. A polynomial without negative coefficients is >= 0; it is > 0 if a term has only x' > 0.
   All divisors are > 0 so, hence a <= b if the numerator of b - a is >= 0.
L9 Losses in an interval of length w: E_P f(1/r), f convex, E_P 1/r = 1, is largest on both ends a and a - w, and then
   over a at e^(2a) = t e^w: h = (e^(w/2) - t^(1/2))^2 / (e^w - 1). K(s) = ln E_P r^s has K(-1) = K(0) = 0 and K'' <=
   w^2 / 4, so the Renyi divergence K(a-1) / (a-1) is at most a w^2 / 8. A pure one (two answers): K(s) / (s (s+1)) =
   e^2 (g(u) - g(v)) / (u - v), u = (s + 1/2)^2 e^2, v = e^2 / 4, g(x) = ln cosh x^(1/2) concave: at most e^2 g'(v) =
   e tanh(e/2).
   Scores whose changes differ by at most w: weights e^(score/b) change by factors in an interval of length w/b, and
   are normed.
   Noisy max: given the others' noise, y wins if its own is >= some z; at the neighbour >= z + w suffices, which
   Laplace and exponential noise of scale b meet with a probability not smaller than by e^(-w/b). Sparse vector, c
   positives: move the threshold's noise by the change (linf / a), then each positive's by w (w/b), the negatives
   hold.
L10 A sample: given the others in it, the outputs are R without the record, U or V with one or the other; h is jointly
   convex. (1-q) R + q U against R: q h((t-1+q)/q), or 1 - t below 1 - q; the other order: 1 - t + t h(1/t). Of fixed
   size, R has another record in its place: the same at t >= 1, as int (qU - (t-1)(1-q) R - tq V)^+ = q int (U - t'
   T)^+, T a mixture of R and V, t' = 1 + (t-1)/q. Poisson, replaced: q U = q s U + q (1-s) U, so for any s q s
   h_UR((t-1)(1-q)/(qs)) + q (1-s) h_UV(t/(1-s)).
L11 A counter releases A x + L z, A = L R lower triangular: a function of R x + z, moved by the record's columns of R.
   Increments may depend on earlier outputs: L z is also L' z' with L' lower triangular and a shift no longer, of z'
   not yet seen; Laplace densities change by at most e^(L1/b) under z -> z - shift, which leaves earlier outputs and
   volumes as they are. Columns of the square root of A, c_j = binom(2j, j) / 4^j, are >= 0 and fall, so k of them, b
   apart, are longest at 0, b, 2b, ...
T0 Adaptive composition: states b with potentials F(b, t) = h of a measure m_b, F >= (1 - t)^+, such that a charge c
   that is allowed in b and leads to b' has E_P F(b', t/r) <= F(b, t). Then runs from b have h <= F(b, .), whatever is
   chosen by all before: by induction on the releases left, given the first outcome. It suffices that (measure of c) x
   m_b' is below m_b.
T1 basic: F = d + (1 - d) h of two answers with e; (e, d)-DP is below it, products add e and d. T2 gdp: N(0,1),
   N(b^(1/2), 1); zcdp: F = C t^(1-a) e^(a(a-1)b), C = (1-1/a)^a / (a-1), the least that is >= (1-t)^+, for any a > 1.
   T3 plan: F = h of the product of all that is left; to leave one out is allowed, as it is above the mass 1 at 1.
"""

# fmt: off
from __future__ import annotations

import bisect
import decimal
import functools
import itertools
import json
import re
import secrets
import sys
from collections.abc import Callable, Collection, Iterable
from fractions import Fraction as F
from functools import partial
from math import isqrt, perm
from typing import Any, NamedTuple

FORMAT, PARTS = "dpwitness proof, version 1", ["format", "claim", "symbols", "releases", "records", "theorem", "tested"]
UNITS, RELATIONS = ("one report", "one person"), ("replace one", "add or remove one", "zero out")
CURRENCIES = {"basic": ["epsilon", "delta"], "zcdp": ["rho"], "gdp": ["mu_squared"], "plan": []}
LONGEST, LIMITS = 4 * 10**6, (10**6, 60 * 10**6)  # bytes of a file; work on formulas, and on curves
NOTE = """not looked at: the section "tested"; not proved: costs marked (stated); not known: that the code releases no
  more, keeps values to these domains, factors, terms, nodes, names records as the unit says, draws the noise exactly"""
PLACE, WORK = ["the file"], [0, 0]  # the place that is being checked, and the work that was done


class Wrong(Exception):
    """The claim does not follow, or the file is not well formed."""


def need(truth: bool, why: str) -> None:
    """Go on only if something is true."""
    if not truth:
        raise Wrong(why)


def spend(work: int, what: int = 1) -> None:
    """Count work (0: on formulas), so that every file comes to an end."""
    WORK[what] += work
    need(WORK[what] <= LIMITS[what], "takes too long to check")



# --- 1. Reading: no floats, no key twice, no unknown keys, nothing huge -----------------------------------------------

def load(raw: bytes) -> Any:
    """Return the data of a file."""
    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        need(len(dict(items)) == len(items), "a key occurs twice")
        return dict(items)

    need(len(raw) <= LONGEST, "too long")
    return json.loads(raw.decode(), object_pairs_hook=pairs, parse_float=lambda x: None, parse_constant=lambda x: None)


def keys(data: Any, *names: str) -> list[Any]:
    """Return the values of an object that has exactly these keys."""
    need(type(data) is dict and set(data) == set(names), f"must be an object with the keys {', '.join(names)} alone")
    return [data[name] for name in names]


def word(data: Any, key: str, known: Collection[str]) -> str:
    """Return one of the known words."""
    need(type(data) is dict and type(data.get(key)) is str and data[key] in known, f"{key}: one of {', '.join(known)}")
    return str(data[key])


def matrix_of(data: Any) -> list[list[F]]:
    """Return rows of equally many numbers; a number is a row of one."""
    need(type(data) is list and len(data) > 0, "must be a list that is not empty")
    rows = [[exact(read_number(x)) for x in (row if type(row) is list else [row])] for row in data]
    need(len(rows[0]) > 0 and len({len(row) for row in rows}) == 1, "rows: must be equally long, and not empty")
    return rows


# --- 2. Numbers: fractions, or quotients of polynomials in declared symbols [L8] --------------------------------------

NUMBER, NAME = re.compile(r"-?[0-9]{1,400}(/[1-9][0-9]{0,399})?"), re.compile("[A-Za-z][A-Za-z0-9]{0,11}")
SYMBOLS: dict[str, tuple[Number, bool]] = {}  # name: (least, whole). A symbol is least + x', x' >= 0, or > 0 if real


def tame(x: Any) -> Any:
    """Return a number that has not grown too long."""
    bits = x.numerator.bit_length() + x.denominator.bit_length() if isinstance(x, F) else 0
    spend(4 + (bits * bits >> 17), 0)
    need(bits < 2**14, "a number has grown too long")
    return x


def sum_of(p: Polynomial, q: Polynomial) -> Polynomial:
    """Return p + q."""
    return {m: c for m in {**p, **q} if (c := tame(p.get(m, F(0)) + q.get(m, F(0))))}


def product(p: Polynomial, q: Polynomial) -> Polynomial:
    """Return p q."""
    product: Polynomial = {}
    for (m, c), (n, d) in itertools.product(p.items(), q.items()):
        need(len(m) + len(n) < 100, "a formula is of too high a degree")
        key = tuple(sorted(m + n))
        product[key] = tame(product.get(key, F(0)) + c * d)
    return {m: c for m, c in product.items() if c}


def is_positive(p: Polynomial, strictly: bool = False) -> bool:
    """Return True only if p >= 0 (or > 0: some term has only symbols with x' > 0) for all values."""
    return all(c > 0 for c in p.values()) and (not strictly or any(not any(SYMBOLS[x][1] for x in m) for m in p))


class Ratio:
    """A quotient n / d of polynomials {(symbol, symbol, ...): coefficient} in the x', d > 0 for all values."""

    def __init__(self, n: Polynomial, d: Polynomial) -> None: self.n, self.d = n, d

    def __add__(self, x: Number) -> Ratio:
        return Ratio(sum_of(product(self.n, ratio(x).d), product(ratio(x).n, self.d)), product(self.d, ratio(x).d))

    def __mul__(self, x: Number) -> Ratio: return Ratio(product(self.n, ratio(x).n), product(self.d, ratio(x).d))

    def __truediv__(self, x: Number) -> Ratio:
        need(is_positive(ratio(x).n, strictly=True), "a divisor is not shown to be above 0")
        return Ratio(product(self.n, ratio(x).d), product(self.d, ratio(x).n))

    def __le__(self, other: Number) -> bool: return is_positive((other - self).n)  # shown for all values; else unknown
    def __ge__(self, other: Number) -> bool: return is_positive((self - other).n)
    def __sub__(self, other: Number) -> Ratio: return self + -other
    def __neg__(self) -> Ratio: return self * F(-1)
    def __rsub__(self, other: F) -> Ratio: return -self + other
    def __rtruediv__(self, other: F) -> Ratio: return ratio(other) / self
    __radd__, __rmul__ = __add__, __mul__


Number = F | Ratio
Polynomial = dict[tuple[str, ...], F]


def ratio(x: Number) -> Ratio:
    """Return a number as a quotient."""
    return x if isinstance(x, Ratio) else Ratio({(): x} if x else {}, {(): F(1)})


def exact(x: Number | None) -> F:
    """Return a number that is known, and that no symbol is part of."""
    if not isinstance(x, F):
        raise Wrong("for this a number is needed, that is known and no formula of symbols")
    return x


def read_number(x: Any, least: int | None = None, depth: int = 0) -> Number:
    """Return a whole number, "7/3", a symbol, or the formula ["+" | "-" | "*" | "/", x, y]."""
    if type(x) is list:
        need(len(x) == 3 and x[0] in ("+", "-", "*", "/") and depth < 50, "a formula must be [operation, x, y]")
        a, b = read_number(x[1], None, depth + 1), read_number(x[2], None, depth + 1)
        need(x[0] != "/" or isinstance(b, Ratio) or b > 0, "a divisor is not above 0")
        value: Number = tame(a + b if x[0] == "+" else a - b if x[0] == "-" else a * b if x[0] == "*" else a / b)
    elif type(x) is str and x in SYMBOLS:
        value = Ratio({(x,): F(1)}, {(): F(1)}) + SYMBOLS[x][0]
    else:
        need(type(x) is int or (type(x) is str and NUMBER.fullmatch(x) is not None), "must be a number")
        value = tame(F(x))
    need(least is None or F(least) <= value, f"a number is not shown to be at least {least}")
    return value


def positive(x: Any) -> Number:
    """Return a number above 0."""
    need(is_positive(ratio(value := read_number(x)).n, strictly=True), "a number is not shown to be above 0")
    return value


def integer(x: Any, least: int | None = None) -> Number:
    """Return a whole number: of symbols, a polynomial in whole ones with whole coefficients."""
    n, d = ratio(value := read_number(x, least)).n, ratio(value).d
    whole_terms = all(c.denominator == 1 and all(SYMBOLS[x][1] for x in m) for m, c in n.items())
    need(whole_terms and d == {(): F(1)}, "a number is not whole")
    return value


def count(x: Number, least: int = 1, most: int = 10**6) -> int:
    """Return a whole number that is no formula of symbols, nor out of range."""
    need(least <= exact(x) <= most, f"a number is not from {least} to {most}")
    return int(exact(x))


def declare(symbols: Any) -> None:
    """Read the ranges of symbols; the least value of one may use those before."""
    SYMBOLS.clear()
    need(type(symbols) is dict and len(symbols) <= 20, "must be an object of at most 20 symbols")
    for name, row in symbols.items():
        least, kind = keys(row, "least", "whole")
        need(NAME.fullmatch(name) is not None and type(kind) is bool, "must have a plain name; 'whole': true or false")
        SYMBOLS[name] = integer(least) if kind else read_number(least, 0), kind


def total(numbers: Iterable[Number]) -> Number:
    """Return a sum."""
    return functools.reduce(lambda value, x: tame(value + x), numbers, F(0))



def show(x: Any) -> str:
    """Return a number, rounded up to 12 digits, or a formula that was read, in words."""
    return f"({show(x[1])} {x[0]} {show(x[2])})" if type(x) is list else x if x in SYMBOLS else (
        str(decimal.Context(12, decimal.ROUND_CEILING).divide(*F(x).as_integer_ratio())))


# --- 3. Derivations: where one record's value lies, and so how far it moves [L7] --------------------------------------

NUMBERS = ("reals", "box", "whole", "one-hot", "ball-1", "ball-2")
BOUNDED, NORMED = NUMBERS[1:], NUMBERS[3:]  # of the same radius each of the normed ones lies in the next


class StatedDomain(NamedTuple):
    """A set of values. "box": each coordinate in [low, high]; "whole": and whole; "reals": any numbers; "one-hot": one
    coordinate is 1 and the others 0, or (low = 0) all are 0; "ball-1", "ball-2": of norm at most high; "categories":
    the names 0 .. size - 1; "moments": of d = `size` features and one outcome in a regression [L7], high the weight w.
    """

    kind: str
    low: Number
    high: Number
    size: Number

    def ends(self) -> tuple[Number, Number]:
        """Return bounds on every coordinate."""
        return -self.high if self.kind in (*NORMED[1:], "moments") else self.low * F(self.kind != "one-hot"), self.high


def read_domain(data: Any) -> StatedDomain:
    """Read a domain."""
    kind = word(data, "kind", (*NUMBERS, "categories", "moments"))
    read = integer if kind == "whole" else read_number
    _, low, high, size = keys(data, "kind", "low", "high", "size")
    d = StatedDomain(kind, read(low), read(high), integer(size, 1))
    need(d.low <= d.high, "low is not shown to be at most high")
    need(kind in ("box", "whole") or d.low == 0 or (kind == "one-hot" and d.low == 1), "low must be 0")
    most = {"reals": 0, "categories": 0, "one-hot": 1}.get(kind, d.high)
    need(d.high == most and (kind != "moments" or F(1) <= d.high), "high is out of range")
    return d


categories = partial(StatedDomain, "categories", F(0), F(0))  # of so many names


def holds(outer: StatedDomain, inner: StatedDomain) -> bool:
    """Return whether a stated domain holds a derived one."""
    if outer.kind == "categories":
        named = inner.kind == "whole" and inner.size == 1 and F(0) <= inner.low and inner.high + F(1) <= outer.size
        return named or (inner.kind == "categories" and inner.size <= outer.size)
    if inner.kind not in NUMBERS or not inner.size <= outer.size <= inner.size:
        return False
    if outer.kind in NORMED:
        within = inner.kind in NORMED and NORMED.index(inner.kind) <= NORMED.index(outer.kind)
        return within and inner.high <= outer.high and (outer.kind != "one-hot" or outer.low <= inner.low)
    (a, b), (c, e), fits = outer.ends(), inner.ends(), inner.kind in ("whole", "one-hot")
    within = outer.kind in ("box", "whole") and inner.kind != "reals" and a <= c and e <= b
    return outer.kind == "reals" or (within and (outer.kind == "box" or fits))


def affine(d: StatedDomain, factor: Any, shift: Any) -> StatedDomain:
    """Derive factor x + shift: whole numbers stay whole if both are."""
    f, s, (a, b) = exact(read_number(factor)), read_number(shift), d.ends()
    stays = d.kind in ("whole", "one-hot") and f.denominator == 1 and isinstance(s, F) and s.denominator == 1
    return StatedDomain("whole" if stays else "box", (a if f >= 0 else b) * f + s, (b if f >= 0 else a) * f + s, d.size)


def clip(d: StatedDomain, low: Any, high: Any) -> StatedDomain:
    """Derive each coordinate, or the end of [low, high] that it lies beyond."""
    a, b = read_number(low), read_number(high)
    c, e = (a, b) if d.kind == "reals" else d.ends()
    need(a <= b, "low is not shown to be at most high")
    if isinstance(a, Ratio) or isinstance(b, Ratio) or isinstance(c, Ratio) or isinstance(e, Ratio):
        return StatedDomain("box", a, b, d.size)
    stays = d.kind in ("whole", "one-hot") and a.denominator == b.denominator == 1
    return StatedDomain("whole" if stays else "box", min(max(a, c), b), min(max(a, e), b), d.size)


def choose(d: StatedDomain, index: Any) -> StatedDomain:
    """Derive the coordinates at an index; -1 is padding and gives 0. Distinct ones keep one-hot vectors and balls."""
    need(type(index) is list and index != [] and all(type(i) is int and -1 <= i < exact(d.size) for i in index), "row")
    size, (a, b), n = exact(d.size), d.ends(), F(len(index))
    real = [i for i in index if i >= 0]
    if len(set(real)) == len(real) and d.kind in NORMED:
        return StatedDomain(d.kind, d.low if len(real) == size else F(0), d.high, n)
    a, b = (min(exact(a), F(0)), max(exact(b), F(0))) if len(real) < n else (a, b)
    return StatedDomain("whole" if d.kind in ("whole", "one-hot") else "box", a, b, n)


def linear(d: StatedDomain, matrix: Any) -> StatedDomain:
    """Derive matrix @ x: the box around the images of corners, of one-hot vectors, or of a ball (Hoelder)."""
    rows, (a, b) = matrix_of(matrix), map(exact, d.ends())
    need(len(rows[0]) == d.size, "matrix: rows must be as long as the vectors")
    lows, highs = ([exact(total(side(x * a, x * b) for x in row)) for row in rows] for side in (min, max))
    if d.kind == "one-hot":
        lows = highs = [x for row in rows for x in row] + [F(0)] * (d.low == 0)
    elif d.kind in ("ball-1", "ball-2"):
        norms = [max(map(abs, r)) if d.kind == "ball-1" else root_up(exact(total(x * x for x in r))) for r in rows]
        lows, highs = [x * a for x in norms], [x * b for x in norms]
    return StatedDomain("box", min(lows), max(highs), F(len(rows)))


def category_of_bits(d: StatedDomain) -> StatedDomain:
    """Derive the number with these bits."""
    need(F(0) <= d.low and d.high <= F(1) and d.size <= F(20), "takes at most 20 bits")
    return categories(F(2 ** int(exact(d.size))))


def table(d: StatedDomain, entries: Any) -> StatedDomain:
    """Derive the entry, a number or a row of numbers, of a category."""
    rows = matrix_of(entries)
    need(d.size <= F(len(rows)), "entries: fewer than categories")
    kind = "whole" if all(x.denominator == 1 for row in rows for x in row) else "box"
    return StatedDomain(kind, min(map(min, rows)), max(map(max, rows)), F(len(rows[0])))


STEPS: dict[str, tuple[Collection[str], list[str], Callable[..., StatedDomain]]] = {  # domains, parameters, rule
    "affine": (BOUNDED, ["factor", "shift"], affine),
    "clip": (NUMBERS, ["low", "high"], clip),
    "choose": (BOUNDED, ["index"], choose),
    "linear": (BOUNDED, ["matrix"], linear),
    "round": (NUMBERS, ["low", "high"], lambda d, a, b: StatedDomain("whole", integer(a), integer(b), d.size)),
    "above": (NUMBERS, [], lambda d: categories(F(2)) if d.size == 1 else StatedDomain("whole", F(0), F(1), d.size)),
    "first above": (NUMBERS, [], lambda d: categories(d.size + F(1))),
    "category of one-hot": (["one-hot"], [], lambda d: categories(d.size + F(1) - d.low)),
    "category of bits": (["whole", "one-hot"], [], category_of_bits),
    "one-hot": (["categories"], [], lambda d: StatedDomain("one-hot", F(1), F(1), d.size)),
    "table": (["categories"], ["entries"], table),
}


class Shift(NamedTuple):
    """Distances by which one record moves a sum of some terms of its value, if another replaces it (else: nothing)."""

    domain: StatedDomain
    replaced: bool
    terms: Number
    l1: Any  # None: not known
    l2_squared: Number
    linf: Number
    spread: Number  # the difference of the changes of any two coordinates


def shift_of(d: StatedDomain, replaced: bool, terms: Number) -> Shift:
    """Derive it from where the value lies."""
    (a, b), twice = d.ends(), F(2 if replaced else 1)
    l1: Any = None
    linf: Number = twice * d.high
    l2_squared = linf * linf
    if d.kind == "one-hot":
        linf, l1 = F(1), F(1) if d.size == 1 else twice
        l2_squared = l1
    elif d.kind in ("ball-1", "ball-2"):
        square = l2_squared * d.size
        l1 = linf if d.kind == "ball-1" else None if isinstance(square, Ratio) else root_up(square)
    elif d.kind == "moments":  # for every neighbour: the set is convex and holds 0
        trace, weight = (d.size + F(2)) * d.size / F(2**24) + F(1), d.high * d.high
        l2_squared, b = F(2) * trace * (trace + weight) + weight * weight / F(2), d.high * trace
        a, linf = -b, F(2) * b
    else:
        linf = b - a if replaced else b if F(0) <= a else max(exact(b), -exact(a))
        l1, l2_squared = d.size * linf, d.size * linf * linf
    l1 = None if l1 is None else l1 * terms
    return Shift(d, replaced, terms, l1, l2_squared * terms * terms, linf * terms, twice * (b - a) * terms)


# --- 4. Elementary functions: whole numbers in units of 2^-W, with proved errors [L4] ---------------------------------

W, GUARD, ONE = 200, 200, 1 << 200  # bits after the point; guard bits of the normal tail, as e^(16^2 / 2) < 2^185
# The root of 2 pi in units of 2^-(W + GUARD), rounded down:
ROOT = 0x281b263fec4e0b2caf9483f5ce459dc5f19f3ea6416000b50dc2f412ddeeb948b5068337b65698726847d560b8818fb98307f


def up(x: F) -> int:
    """Return a fraction in units, rounded up; -up(-x) rounds down."""
    return -((-x.numerator << W) // x.denominator)


def root_up(x: F) -> F:
    """Return the square root, or something above it where it is no fraction."""
    root = F(isqrt(x.numerator * x.denominator), x.denominator)
    return root if root * root == x else F(isqrt(x.numerator * x.denominator << 2 * W) + 1, x.denominator << W)


@functools.lru_cache(2**17)
def exp(x: int, w: int = W) -> int:
    """Return e^x, off by at most 2 max(1, e^x) units."""
    if x < -1000 << w:
        return 0
    spend(40)
    need(x >> w < 20000, "a number is too large")
    m = max(0, abs(x).bit_length() - w + 8)
    s, n, y = w + m + 72, 0, x << 72
    term = result = 1 << s
    while term not in (0, -1):
        n += 1
        term = (term * y >> s) // n
        result += term
    for _ in range(m):
        result = result * result >> s
    return result >> (m + 72)


def exp_lo(x: int) -> int:
    """Return a number below e^x."""
    return max(0, (e := exp(x)) - 4 - 4 * (e >> W))


def exp_hi(x: int) -> int:
    """Return a number above e^x."""
    return (e := exp(x)) + 4 + 4 * (e >> W)


def log(v: int) -> tuple[int, int]:
    """Return numbers below and above ln v: exp checks the result of Newton's steps."""
    x = (v.bit_length() - 1 - W) * 693147 * ONE // 10**6
    for _ in range(6):
        x += 2 * (v - (e := exp(x))) * ONE // (v + e)
    off = abs((e := exp(x)) - v) + 4 + 4 * (e >> W)
    need(2 * off < min(e, v), "a logarithm")
    off = off * ONE // (min(e, v) - off) + 2
    return x - off, x + off


def tail(x: int) -> tuple[int, ...]:
    """Return a lower and an upper bound on P(N > x) of a standard normal N."""
    if x < 0:
        return tuple(ONE - bound for bound in reversed(tail(-x)))
    if x > 16 * ONE:
        return 0, 1 if x > 100 * ONE else exp_hi(-(x * x >> W + 1)) // 40 + 1
    s, n, square = W + GUARD, 1, (x << GUARD) ** 2 >> W + GUARD
    term = series = x << GUARD
    while term:
        n += 2
        term = (term * square >> s) // n
        series += term
    value = ((1 << s - 1) - series * exp(-(square >> 1), s) // ROOT) >> GUARD
    return max(0, value - 2), value + 3


# --- 5. Curves: upper bounds on h at t = e^loss, loss and bound in units [L3] -----------------------------------------

LossCurve = Callable[[int], int]


def bound(curve: LossCurve, t: int) -> int:
    """Return a bound at any number of at least t."""
    return curve(log(t)[0]) if t > ONE >> 60 else ONE


def exchanged(curve: LossCurve, loss: int) -> int:
    """Bound the curve of the same two laws in the other order: 1 - t + t h(1/t)."""
    return ONE - exp_lo(loss) + (exp_hi(loss) * max(0, curve(-loss)) >> W) + 1


def either(curve: LossCurve, loss: int) -> int:
    """Bound the curve of two laws in either order, from that of one order, or of one at t >= 1 and less at t < 1."""
    return max(curve(loss), exchanged(curve, loss))


def gaussian(mu_squared: Number, loss: int) -> int:
    """Bound the curve of N(mu, 1) and N(0, 1)."""
    mu = isqrt(up(exact(mu_squared)) << W) + 1
    a = loss * ONE // mu - (mu >> 1)
    return tail(a)[1] + 3 - (exp_lo(loss) * max(0, tail(a + mu)[0] - 3) >> W)


def laplace(largest: Number, loss: int) -> int:
    """Bound the curve of Laplace noise, by the largest loss."""
    most = up(exact(largest))
    return 0 if loss >= most else ONE - exp_lo(min((loss - most) // 2, loss))


def response(epsilon: Number, size: Number, loss: int) -> int:
    """Bound the curve of randomized response; with two answers it is above that of all that is (epsilon, 0)-DP."""
    e, t = up(exact(epsilon)), exp_lo(loss)
    least = exp_lo(e) + int(exact(size) - 1) * ONE
    one = (exp_hi(e) - t) * ONE // least + 1 if loss < e else 0  # one answer; else all answers but one
    return one if loss >= 0 else max(one, ONE - t + max(0, exp_hi(loss + e) - ONE) * ONE // least + 1)


def bounded_range(width: Number, loss: int) -> int:
    """Bound the curves of all pairs with losses in some interval of this width [L9]."""
    e = up(exact(width))
    return max(0, ONE - exp_lo(loss)) if abs(loss) >= e else (
        max(0, exp_hi(e // 2 + 1) - exp_lo(loss // 2)) ** 2 // max(1, exp_lo(e) - ONE) + 1)


def joined(curve: LossCurve, rate: F, loss: int) -> int:
    """Bound the curve if a record is in the sample with some probability, and its absence is compared [L10]."""
    v = (exp_lo(loss) * rate.denominator - (rate.denominator - rate.numerator) * ONE) // rate.numerator
    return rate.numerator * bound(curve, v) // rate.denominator + 1 if v > 0 else ONE - exp_lo(loss) + 1


def replaced_in_sample(curve: LossCurve, twice: LossCurve, rate: F, lift: int, normal: bool, loss: int) -> int:
    """Bound the curve of a Poisson sample, one record replaced, at t >= 1; lift and normal: how to split [L10]."""
    w = exp_lo(loss)
    less = max(0, (w - ONE) * (rate.denominator - rate.numerator) // rate.numerator)
    c = less * lift >> W
    rest = min(ONE, w * ONE // max(1, (c + isqrt(c * c + 4 * w * ONE)) ** 2 // (4 * ONE) if normal else c + w))
    parts = rest * bound(twice, w * ONE // max(1, rest)) + (ONE - rest) * bound(curve, less * ONE // max(1, ONE - rest))
    return rate.numerator * (parts + ONE) // (rate.denominator * ONE) + 1


def discrete(kind: str, parameter: Number, chance: F, shift: Number, loss: int) -> int:
    """Bound the curve of whole noise with log-concave weights, moved by x: T(m - x) - t T(m) at best."""
    scale, x, t = exact(parameter), int(exact(shift)), exp_lo(loss)
    if x == 0 or (kind == "discrete laplace" and abs(loss) >= up(x / scale)):
        return max(0, ONE - t + 1)
    if kind != "binomial":  # the first m with (2 m - x) / scale >= loss, or (2 m x - x^2) / (2 variance)
        m = -((-scale * loss / ONE / (2 if kind == "discrete laplace" else x) - F(x, 2)) // 1)
    else:  # the first m with w(m - x) / w(m) = perm(m, x) / perm(n - m + x, x) ((1 - p) / p)^x >= t
        spend(x * (40 + chance.denominator.bit_length()))
        there, here = (chance.denominator - chance.numerator)**x << W, chance.numerator**x * t
        n = int(scale)
        m = bisect.bisect_left(range(n + 1), True, key=lambda c: there * perm(c, x) >= here * perm(n - c + x, x))
    sums, first, off = noise_table(kind, scale, chance)
    moved, stays = (sums[min(max(z - first, 0), len(sums) - 1)] for z in (m - x, m))
    return (moved + off) * ONE // sums[0] - t * stays // (sums[0] + off) + 2


@functools.lru_cache(4)
def noise_table(kind: str, parameter: F, chance: F) -> tuple[list[int], int, int]:
    """Return sums of all weights from z = first, first + 1, ... on; first; and by how much they may be too small."""
    def falling(factors: Iterable[int], step: Callable[[int, int], int], bits: int = 0) -> list[int]:
        weights, steps = list[int](), itertools.accumulate(factors, step, initial=ONE)  # of the mode, and outwards
        while not weights or weights[-1] >> W - 150:
            spend(500 + bits)
            weights += itertools.islice(steps, 1000)
            need(weights[-1] <= ONE and len(weights) < 10**6, "too many places: the noise is too large")
        return weights

    mode, square = 0, kind == "discrete gaussian"
    if kind == "binomial":
        n, a, b = int(parameter), chance.numerator, chance.denominator - chance.numerator
        mode, bits = (n + 1) * a // (a + b), b.bit_length()
        fall = falling(itertools.count(mode, -1), lambda w, z: w * z * b // ((n - z + 1) * a), bits)
        rise = falling(itertools.count(mode), lambda w, z: w * (n - z) * a // ((z + 1) * b), bits)
    else:  # e^(-rate |z|) or e^(-rate z^2)
        rate = 1 / parameter / (1 + square)
        change = itertools.repeat(exp_lo(-up(2 * rate * square)))
        fall = rise = falling(itertools.accumulate(change, lambda y, z: y * z >> W, initial=exp_lo(-up(rate))),
                              lambda w, y: w * y >> W)
    sums, size = [*itertools.accumulate(itertools.chain((0,), reversed(rise), fall[1:]))], len(fall) + len(rise)
    return sums[::-1], mode + 1 - len(fall), size * (fall[-1] + rise[-1] + 24 * size * size)


# --- 6. Mechanisms: the cost of one record in one release -------------------------------------------------------------

class Law(NamedTuple):
    """Bounds on a release: its curve (one for both orders of the neighbours, or two), and its costs if known."""

    curves: tuple[LossCurve, ...] = ()
    pure: Number | None = None
    mu_squared: Number | None = None
    rho: Number | None = None
    copies: Number = F(1)  # independent ones of this curve
    lost: Number = F(0)  # delta that is paid on top


def pure_law(epsilon: Number, lost: Number = F(0)) -> Law:
    """Return the law above all that is (epsilon, lost)-DP."""
    return Law((partial(response, epsilon, F(2)),), epsilon, lost=lost)


def range_law(width: Number) -> Law:
    """Return the law above all pairs with losses in some interval of this width."""
    return Law((partial(bounded_range, width),), width, rho=width * width / F(8))


def gaussian_law(mu_squared: Number) -> Law:
    """Return the law of Gaussian noise."""
    return Law((partial(gaussian, mu_squared),), mu_squared=mu_squared, rho=mu_squared / F(2))


def laplace_law(m: Shift, scale: Any) -> Law:
    """Return the law of Laplace noise."""
    need(m.l1 is not None, "no L1 movement is known")
    return Law((partial(laplace, m.l1 / positive(scale)),), m.l1 / positive(scale))


def response_law(m: Shift, size: Any, epsilon: Any) -> Law:
    """Return the law of randomized response."""
    need(m.domain.size <= integer(size, 2) and m.replaced and m.terms == 1, "takes one of so many categories, replaced")
    return Law((partial(response, positive(epsilon), integer(size)),), positive(epsilon))


def discrete_law(kind: str, m: Shift, parameter: Number, pure: Any = None, rho: Any = None, chance: F = F(1, 2)) -> Law:
    """Return the law of noise on whole numbers."""
    need(m.domain.kind in ("whole", "one-hot") and chance < 1, "takes whole numbers, and a probability below 1")
    curve: LossCurve = partial(discrete, kind, parameter, chance, m.linf)
    curve = curve if chance == F(1, 2) else partial(either, curve)  # symmetric noise has one for both orders
    return Law((curve,), pure, None, rho, m.domain.size if m.domain.kind == "whole" else m.l1)


def sampled_law(poisson: bool, m: Shift, rate: Any, of: Any) -> Law:
    """Return the law of a mechanism on a sample, of each record by itself or of a fixed size [L10]."""
    q, base = exact(positive(rate)), law(of, shift_of(m.domain, not poisson, m.terms))
    need(q <= 1 and (poisson or m.replaced), "rate: at most 1; of a sample of fixed size records are only replaced")
    one = len(base.curves) == base.copies == 1 and base.lost == 0 and not re.search("sample|counter|stated", of["kind"])
    need(one, "no rule is known for a sample of this")
    if poisson and m.replaced:
        need(of["kind"] in ("gaussian", "laplace"), "replaced in a Poisson sample: Gaussian or Laplace noise")
        lift, twice = exp_hi(up(min(exact(base.pure or base.rho or F(0)), F(1000)))), law(of, m).curves[0]
        return Law((partial(either, partial(replaced_in_sample, base.curves[0], twice, q, lift, base.pure is None)),))
    largest = base.pure and F(log(ONE + up(q * F(exp_hi(up(exact(base.pure))) - ONE, ONE)))[1], ONE)
    removed = partial(joined, base.curves[0], q)
    return Law((removed, partial(exchanged, removed)) if poisson else (partial(either, removed),), largest)


def counter_law(m: Shift, *numbers: Any) -> Law:
    """Return the law of all outputs of a counter of running sums [L11]."""
    *shape, of = numbers
    word(of, "kind", ("gaussian", "laplace", "discrete laplace")[:1 if len(shape) > 1 else 3])
    levels = column_norm_squared(*(count(integer(x)) for x in shape)) if len(shape) > 1 else integer(shape[0], 1)
    made = law(of, m._replace(l1=m.l1 and m.l1 * levels, l2_squared=m.l2_squared * levels))
    return made if made.pure is None else pure_law(made.pure)


def column_norm_squared(steps: int, participations: int, separation: int, band: int = 10**6) -> F:
    """Return the squared length of the sum of columns 0, b, 2 b, ... of the (banded) square root of sums."""
    spend(10 * steps)
    end, sums, r = participations * separation, list[int](), [ONE]
    for j in range(steps):
        sums.append(r[j] + (sums[j - separation] if j >= separation else 0) - (r[j - end] if j >= end else 0))
        r.append(-(-r[j] * (2 * j + 1) // (2 * j + 2)) if j + 1 < band else 0)
    return F(sum(x * x for x in sums), ONE * ONE)


MECHANISMS: dict[str, tuple[list[str], Callable[..., Law]]] = {  # its parameters, the rule
    "laplace": (["scale"], laplace_law),
    "gaussian": (["variance"], lambda m, v: gaussian_law(m.l2_squared / positive(v))),
    "randomized response": (["size", "epsilon"], response_law),
    "discrete laplace": (["scale"], lambda m, b: discrete_law("discrete laplace", m, positive(b), m.l1 / positive(b))),
    "discrete gaussian": (["variance"], lambda m, v: discrete_law(
        "discrete gaussian", m, positive(v), None, m.l2_squared / positive(v) / F(2))),
    "binomial": (["trials", "ones", "probability"], lambda m, n, ones, p: discrete_law(
        "binomial", m._replace(linf=m.linf * integer(ones, 1)), integer(n, 1), chance=exact(positive(p)))),
    "exponential mechanism": (["scale"], lambda m, b: range_law(m.spread / positive(b))),
    "noisy max": (["scale"], lambda m, b: pure_law(m.spread / positive(b))),
    "sparse vector": (["threshold_scale", "query_scale", "positives"],
                      lambda m, a, b, n: pure_law(m.linf / positive(a) + integer(n, 1) * m.spread / positive(b))),
    "poisson sample": (["rate", "of"], partial(sampled_law, True)),
    "fixed size sample": (["rate", "of"], partial(sampled_law, False)),
    "tree counter": (["levels", "of"], counter_law),
    "square root counter": (["horizon", "participations", "separation", "of"], counter_law),
    "banded counter": (["horizon", "participations", "separation", "bandwidth", "of"], counter_law),
    "stated approximate": (["epsilon", "delta"], lambda m, e, d: pure_law(read_number(e, 0), read_number(d, 0))),
    "stated bounded range": (["epsilon"], lambda m, e: range_law(read_number(e, 0))),
    "stated zcdp": (["rho"], lambda m, rho: Law(rho=read_number(rho, 0))),
    "stated gaussian": (["mu_squared"], lambda m, mu_squared: gaussian_law(read_number(mu_squared, 0))),
}


def law(data: Any, m: Shift) -> Law:
    """Return the law of a mechanism on a value that a record moves so far."""
    kind = word(data, "kind", MECHANISMS)
    fits = (m.domain.kind == "categories") == (kind == "randomized response") and m.domain.kind != "reals"
    need(fits or kind.startswith("stated") or kind.endswith("sample"), "takes other values")
    return MECHANISMS[kind][1](m, *keys(data, "kind", *MECHANISMS[kind][0])[1:])


def rho_of(a: Law) -> Number | None:
    """Return the cost of a release in zCDP: of a pure one epsilon tanh(epsilon / 2), of symbols epsilon^2 / 2 [L9]."""
    if a.pure is None or a.rho is not None or a.lost != 0:
        return a.rho
    return a.pure * (1 - F(2 * ONE, exp_hi(up(a.pure)) + ONE)) if isinstance(a.pure, F) and a.pure <= 1000 else (
        a.pure * a.pure / F(2))


# --- 7. Measures: masses in units of 10^-digits at losses (first + i) 2^-k [L1, L2, L5] -------------------------------

DIGITS, CUT = [36], [1]  # and the mass that may be moved at once: how tight bounds are, not whether they hold


class Measure(NamedTuple):
    """A measure on a lattice of losses, and its mass at infinity."""

    k: int
    first: int
    masses: list[int]
    infinite: int


@functools.cache
def fine(k: int, j: int) -> tuple[int, int]:
    """Return bounds on 1 / (e^d - 1), d = j 2^-k."""
    return ONE * ONE // (exp_hi(j * ONE >> k) - ONE), ONE * ONE // (exp_lo(j * ONE >> k) - ONE) + 1


def measure(curve: LossCurve, k: int) -> Measure:
    """Return chords through a curve at whole multiples of 2^-k, fewer of them where little happens."""
    unit, y, last = 10 ** DIGITS[0], dict[int, int](), min(curve(i * ONE) for i in (1, 3, 10, 30, 100, 399))

    def excess_at(i: int) -> int:  # notes the curve, returns how far it is above 1 - t, to the right above its end
        least = last if i > 0 else ONE - exp_lo(i * ONE >> k)
        value = min(ONE, max(curve(i * ONE >> k), least))
        y[i] = -(-value * unit >> W)
        return value - least

    most = excess_at(0)
    for way in (1, -1):
        i, excess = 0, most
        while excess * unit > CUT[0] * ONE and abs(i) < 400 << k:
            i += way << min(k, max(0, (most // excess).bit_length() - 1) // 4)
            excess = excess_at(i)
    places = sorted(y)
    need(places[-1] - places[0] < 4 * 10**6, "too many places: choose a lower resolution")
    masses, before = [0] * (places[-1] - places[0] + 1), unit - y[places[0]] << W
    for i, j in itertools.pairwise(places):
        low, high = fine(k, j - i)
        y[j] = min(y[j], y[i])
        masses[i - places[0]] = max(0, -(low * (y[i] - y[j]) - before >> W))
        before = (high + ONE) * (y[i] - y[j])
    masses[-1] = -(-before >> W)
    return shorter(Measure(k, places[0], masses, y[places[-1]]))


def coarser(a: Measure) -> Measure:
    """Return it on half the lattice: odd places are split, by chords again."""
    below = ONE * fine(a.k, 1)[0] // (ONE + 2 * fine(a.k, 1)[0])  # 1 / (e^h + 1), from below
    p = [0] * (2 + a.first % 2) + a.masses + [0] * 3
    odd, left = p[1::2], [mass * below >> W for mass in p[1::2]]
    masses = [here + down + up - less for here, down, up, less in zip(p[2::2], left[1:], odd, left, strict=False)]
    return a._replace(k=a.k - 1, first=a.first >> 1, masses=masses)


def shorter(a: Measure) -> Measure:
    """Return it with small masses at its ends moved up: to the first place that is kept, or to infinity."""
    n, low, high = len(a.masses), [*itertools.accumulate(a.masses)], [0, *itertools.accumulate(reversed(a.masses))]
    beyond = min(bisect.bisect_right(high, CUT[0]) - 1, n - 1)
    start = min(bisect.bisect_right(low, CUT[0] * 1000), n - beyond - 1)
    masses = [low[start], *a.masses[start + 1:n - beyond]]
    a = a._replace(first=a.first + start, masses=masses, infinite=a.infinite + high[beyond])
    while len(a.masses) > 60000:
        a = coarser(a)
    return a


def convolve(a: Measure, b: Measure) -> Measure:
    """Return the law of the sum of the losses: one product of long decimal numbers, checked modulo a prime."""
    while a.k != b.k:
        a, b = (coarser(a), b) if a.k > b.k else (a, coarser(b))
    n, width, unit, prime = len(a.masses) + len(b.masses) - 1, 2 * DIGITS[0] + 3, 10 ** DIGITS[0], 2**61 - 1
    spend(n * width // 12)
    long = decimal.Context(width * (n + 2), None, decimal.MIN_EMIN, decimal.MAX_EMAX, traps=[decimal.Inexact])
    one = decimal.Decimal("".join(f"{m:0{width}d}" for m in reversed(a.masses)))
    two = one if b is a else decimal.Decimal("".join(f"{m:0{width}d}" for m in reversed(b.masses)))
    text = str(long.multiply(one, two)).zfill(width * n)
    raw = [int(text[i:i + width]) for i in range(width * (n - 1), -1, -width)]
    point = secrets.randbelow(prime)  # a wrong product would pass with probability < n / 2^61
    left, right, both = (functools.reduce(lambda value, c: (value * point + c) % prime, reversed(z), 0)
                         for z in (a.masses, b.masses, raw))
    need(left * right % prime == both, "a product")
    infinite = -(-(a.infinite * (sum(b.masses) + b.infinite) + b.infinite * sum(a.masses)) // unit)
    return shorter(Measure(a.k, a.first + b.first, [-(-m // unit) for m in raw], infinite))



def delta_of(a: Measure, epsilon: F) -> F:
    """Return an upper bound on delta at epsilon."""
    e = -up(-epsilon)
    start = max(a.first, (e << a.k) // ONE)
    result, below, ratio = a.infinite, exp_lo(e - (start * ONE >> a.k)), exp_lo(-(ONE >> a.k))
    for mass in a.masses[start - a.first:]:
        result += (mass * max(0, ONE - below) >> W) + 1
        below = below * ratio >> W
    return F(result, 10 ** DIGITS[0])


# --- 8. Composition [T1, T2, T3] --------------------------------------------------------------------------------------

Parts = list[tuple[Law, Number]]


def concentrated_delta(rho: F, epsilon: F) -> F:
    """Return exp((a - 1)(a rho - epsilon)) (1 - 1/a)^a / (a - 1) at about the best a > 1."""
    a = 1 + F(1 + bisect.bisect_left(range(ONE >> 40, ONE << 20, ONE >> 40), True, key=lambda x: (  # where in x = a - 1
        up((2 * F(x, ONE) + 1) * rho - epsilon) + log(x)[0] - log(x + ONE)[0] > 0)), 1 << 40)  # the logarithm grows
    power = up(a * F(log(up((a - 1) / a))[1], ONE)) + up((a - 1) * (a * rho - epsilon))
    return F(exp_hi(power), ONE) / (a - 1)


def total_of(parts: Parts, cost: Callable[[Law], Number | None]) -> Number | None:
    """Return the cost of some of each release in a currency, if that is known of all."""
    costs = [(cost(a), n) for a, n in parts]
    return total(c * n for c, n in costs if c is not None) if all(c is not None for c, _ in costs) else None


def delta(parts: Parts, epsilon: Number, aim: Number, resolution: int) -> Number:
    """Return an upper bound on the delta of a composition; aim and resolution only decide how tight it is."""
    lost, pure = total(a.lost * n for a, n in parts), total_of(parts, lambda a: a.pure)
    if pure is not None and pure <= epsilon:
        return lost
    e, mu_squared = exact(epsilon), total_of(parts, lambda a: a.mu_squared)
    parts = parts if mu_squared is None else [(gaussian_law(mu_squared), F(1))]
    if not all(a.curves for a, _ in parts):
        return lost + concentrated_delta(exact(total_of(parts, rho_of)), e)
    if len(parts) == parts[0][1] == parts[0][0].copies == 1:  # its curve itself
        return lost + F(max(0, *(curve(-up(-e)) for curve in parts[0][0].curves)), ONE)
    sides = range(max(len(a.curves) for a, _ in parts))
    return lost + max(delta_of(composed(parts, side, exact(aim), resolution), e) for side in sides)


def composed(parts: Parts, side: int, aim: F, resolution: int) -> Measure:
    """Return the measure of a composition of parts, each with its count, all Gaussians as one."""
    DIGITS[0] = 22 + min(60, len(str(aim.denominator // max(1, aim.numerator))))
    CUT[0] = max(1, int(aim * 10 ** (DIGITS[0] - 12)))
    mu_squared = exact(total(a.mu_squared * n for a, n in parts if a.mu_squared is not None))
    curves = [(a.curves[side % len(a.curves)], count(a.copies * n)) for a, n in parts if a.mu_squared is None]
    found = list[Measure]()
    for curve, n in curves + [(partial(gaussian, mu_squared), 1)] * (mu_squared > 0):
        powers = [measure(curve, resolution + n.bit_length() // 2)]
        while n >> len(powers):
            powers.append(convolve(powers[-1], powers[-1]))
        found.append(functools.reduce(convolve, [power for i, power in enumerate(powers) if n >> i & 1]))
    while len(found) > 1:  # the shortest first
        found.sort(key=lambda a: -len(a.masses))
        found.append(convolve(found.pop(), found.pop()))
    return found[0]


def within(currency: list[str], limits: list[Number], parts: Parts, less: int, *resolutions: int) -> bool:
    """Return whether a composition is shown to cost at most so much; or, with less resolution, not far more."""
    if currency == ["epsilon", "delta"]:
        epsilon = limits[0] * F(3, 2) + F(1) if less else limits[0]
        return any(delta(parts, epsilon, limits[1], resolution - less) <= limits[1] for resolution in resolutions)
    need(currency in (["mu_squared"], ["rho"]), "must be epsilon and delta, or mu_squared, or rho")
    paid = total_of(parts, rho_of if currency == ["rho"] else lambda a: a.mu_squared)
    return paid is not None and paid <= limits[0]


# --- 9. The check -----------------------------------------------------------------------------------------------------

def read_release(data: Any, place: str, replaced: bool, currency: list[str]) -> tuple[Law, list[Number]]:
    """Read a form of release; return its law and its charges."""
    PLACE[0] = place
    source, steps, terms, noise, charged = keys(data, "domain", "steps", "terms", "mechanism", "charged")
    d = read_domain(source)
    for i, row in enumerate(steps, 1):
        PLACE[0] = f"{place}, step {i}"
        takes, names, rule = STEPS[word(row, "op", STEPS)]
        _, into, *parameters = keys(row, "op", "into", *names)
        need(d.kind in takes, "takes other values")
        image, d = rule(d, *parameters), read_domain(into)
        need(image.low <= image.high and holds(d, image), "the stated domain does not hold the image of the one before")
    PLACE[0] = place
    return law(noise, shift_of(d, replaced, integer(terms, 1))), [read_number(x, 0) for x in keys(charged, *currency)]


def check(data: Any) -> str:
    """Return the claim in words, with its proof's table; raise an exception if it does not follow."""
    PLACE[0], WORK[:] = "the file", [0, LIMITS[1] * 5 // 6]
    need(type(data) is dict and data.get("format") == FORMAT, f"is no {FORMAT}")
    _, claim, symbols, releases, records, theorem, _ = keys(data, *PARTS)
    PLACE[0] = "symbols, theorem, claim"
    declare(symbols)
    name, relation = word(theorem, "name", CURRENCIES), word(claim, "relation", RELATIONS)
    unit, currency = word(claim, "unit", UNITS), CURRENCIES[name]
    claimed = sorted({*claim} - {"relation", "unit"}, reverse=True)
    budget = [read_number(x, 0) for x in keys(theorem, "name", *(currency or ["resolution"]))[1:]]
    limits = [read_number(claim[key], 0) for key in claimed]
    need(type(releases) is type(records) is dict and len(records) > 0, "releases, records: must be objects, not empty")
    forms = {key: read_release(row, f"release {i}", relation == "replace one", currency)
             for i, (key, row) in enumerate(releases.items(), 1)}
    compositions = dict[str, Parts]()  # equal ones once
    for i, row in enumerate(records.values(), 1):
        PLACE[0] = f"kind of record {i}"
        need(type(row) is dict and len(row) > 0 and set(row) <= set(forms), "must be in releases that are described")
        compositions[json.dumps(row, sort_keys=True)] = [(forms[key][0], integer(n, 1)) for key, n in row.items()]
        for j, limit in enumerate(budget if currency else []):
            need(total(forms[key][1][j] * read_number(n) for key, n in row.items()) <= limit, "pays more than allowed")
    need(set().union(*records.values()) == set(forms), "a release that is described is of no kind of record")
    budgets: dict[str, Callable[..., Law]] = {"basic": pure_law, "zcdp": lambda rho: Law(rho=rho), "gdp": gaussian_law}
    for less in (4, 0):  # first at 1/16 of the places, and with 1/6 of the work: whether the rest is worth it
        WORK[1] *= less > 0
        for i, (a, charged) in enumerate(forms.values(), 1):
            PLACE[0] = f"release {i}"
            need(not currency or within(currency, charged, [(a, F(1))], less, 8, 12, 14, 16), "costs more than charged")
        PLACE[0] = "claim"
        for each in [[(budgets[name](*budget), F(1))]] if currency else compositions.values():
            need(within(claimed, limits, list(each), less, 12 if currency else count(budget[0], 4, 16)), "is not shown")
    said = ", ".join(f"{key} = {show(claim[key])}" for key in claimed)
    called = {k: f"release {i}" + " (stated)" * ("stated" in str(releases[k])) for i, k in enumerate(releases, 1)}
    lines = [f"{name} theorem" + "".join(f", {key} = {show(theorem[key])} is enforced" for key in currency)]
    lines += [f"whatever {key} from {show(row['least'])} on" for key, row in symbols.items()]
    lines += [f"{called[key]}: {json.dumps(row['mechanism'])} on a sum of {show(row['terms'])} of "
              f"{json.dumps([{'into': row['domain']}, *row['steps']][-1]['into'])}" for key, row in releases.items()]
    for i, row in enumerate(records.values(), 1):
        lines.append(f"kind of record {i}: " + ", ".join(f"{called[key]} {show(n)} times" for key, n in row.items()))
    return "\n  ".join([f"{said}; {relation}; {unit}", *lines, NOTE])


def main(paths: list[str]) -> int:
    """Check files; return 0 if all claims follow, 1 if one does not, 2 if a file cannot be read or there is none."""
    code = 0 if paths else 2
    for path in paths:
        PLACE[0] = "the file"
        try:
            with open(path, "rb") as file:
                print(f"{path!a}: FOLLOWS: {check(load(file.read(LONGEST + 1)))}")
        except Exception as error:  # on any error, nothing is accepted
            code = max(code, 2 if PLACE[0] == "the file" else 1)
            print(f"{path!a}: DOES NOT FOLLOW: {PLACE[0]}: {error if type(error) is Wrong else type(error).__name__}")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
