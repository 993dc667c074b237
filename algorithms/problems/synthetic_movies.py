"""Synthetic movie ratings in the shape of MovieLens 1M, for users without a copy; no real movie is in them."""

from __future__ import annotations

import numpy as np

from algorithms.problems.linear_matroid import LinearMatroid
from algorithms.problems.logged_users import LoggedUsers

_GENRES = 17
# Shares of users: those of the first and the hundredth movie in the paper's setting.
_BEST, _WORST = 0.57, 0.20


def synthetic_movies(movies: int, users: int, instance: int) -> LoggedUsers:
    """Return a problem like `movielens`, drawn from a seed.

    A movie has one to four of 17 genres, some genres are commoner than others, and every genre is some movie's. Its
    popularity falls geometrically from 0.57 to 0.20 in an order that has nothing to do with the ids. Users differ in
    how much they watch, so that the outcomes of one user are dependent, as in a log.

    Parameters
    ----------
    movies
        The number of movies, at least 17.
    users
        The number of rows of the log.
    instance
        The seed.
    """
    rng = np.random.default_rng(instance)
    common = np.geomspace(1.0, 0.1, _GENRES)
    vectors = np.zeros((movies, _GENRES), dtype=np.int64)
    for movie in range(movies):
        count = int(rng.choice([1, 2, 3, 4], p=[0.25, 0.4, 0.25, 0.1]))
        chosen = rng.choice(_GENRES, count, replace=False, p=common / common.sum())
        vectors[movie, chosen] = 1
    vectors[np.arange(_GENRES), np.arange(_GENRES)] = 1
    vectors = rng.permutation(vectors)
    popularity = rng.permutation(np.geomspace(_BEST, _WORST, movies))
    activity = rng.beta(1.0, 1.0, size=(users, 1)) + 0.5  # of mean 1
    outcomes = rng.random((users, movies)) < activity * popularity
    names = [
        f"made-up movie {movie + 1}: genres {', '.join(str(genre + 1) for genre in np.flatnonzero(row))}"
        for movie, row in enumerate(vectors)
    ]
    return LoggedUsers(LinearMatroid(vectors.tolist()), outcomes, names)
