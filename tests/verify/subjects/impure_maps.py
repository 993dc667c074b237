"""Learners that divide rewards by the largest reward so far, inside `map`: the noise of one hides the others."""

import functools

import numpy as np

from algorithms import ClaimForm, View
from mechanisms import Affine, Box, Choose, Clip, Laplace


class Divides:
    """Play the arms with the best noisy means of divided rewards; subclasses decide what keeps the largest."""

    claim = ClaimForm(model="local", view=View.MESSAGE, unit="one report", source="a test")
    family = "semi-bandit"

    def __init__(self, structure, gate, *, epsilon, horizon):
        self.structure, self.gate = structure, gate
        self.feedback_domain = Box(0, 1, structure.size)
        self.total = np.zeros((gate.lanes, structure.arms))
        self.rows = np.arange(gate.lanes)[:, None]
        self.laplace = Laplace.for_epsilon(epsilon, sensitivity=self.feedback_domain.sensitivity)
        self.largest = 1e-9
        self.function = self.kept()

    def act(self):
        self.played = self.structure.solve(self.total)
        return self.played

    def observe(self, feedback):
        divided = feedback.map(self.function, into=self.feedback_domain)
        self.total[self.rows, self.played] += self.gate.release(self.laplace, divided)

    def divide(self, values):
        self.largest = max(self.largest, float(values.max()))
        return values / self.largest

    def kept(self):
        return lambda values: self.divide(values)


class Method(Divides):
    def kept(self):
        return self.divide


class Callable(Divides):
    def __call__(self, values):
        return self.divide(values)

    def kept(self):
        return self


class Partial(Divides):
    def kept(self):
        return functools.partial(Divides.divide, self)


class Closure(Divides):
    def kept(self):
        largest = 1e-9

        def divide(values):
            nonlocal largest
            largest = max(largest, float(values.max()))
            return values / largest

        return divide


class DefaultArgument(Divides):
    def kept(self):
        def divide(values, seen=[1e-9]):  # noqa: B006 (the fault)
            seen.append(float(values.max()))
            return values / max(seen)

        return divide


class ClassAttribute(Divides):
    largest_of_all = 1e-9

    def kept(self):
        def divide(values):
            ClassAttribute.largest_of_all = max(ClassAttribute.largest_of_all, float(values.max()))
            return values / ClassAttribute.largest_of_all

        return divide


class Buffer(Divides):
    def kept(self):
        held = np.full(1, 1e-9)

        def divide(values):
            np.maximum(held, values.max(), out=held)
            return values / held

        return divide


class Generator(Divides):
    def kept(self):
        def running():
            largest, values = 1e-9, None
            while True:
                values = yield None if values is None else values / largest
                largest = max(largest, float(values.max()))

        run = running()
        next(run)
        return run.send


class Ufunc(Divides):
    """Pure, and declared: nothing is wrong, and nobody can know."""

    def kept(self):
        return np.square


class Transformed(Divides):
    """The right way: a transformation, here through all that a learner might do beforehand."""

    def observe(self, feedback):
        every = Choose(np.arange(self.structure.size))
        divided = feedback.map(every >> Affine(0.5, 0.25) >> Clip(0.25, 1.0))
        self.total[self.rows, self.played] += self.gate.release(self.laplace, divided)
