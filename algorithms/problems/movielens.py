"""Movie recommendation: the MovieLens 1M setting of the matroid bandits paper, from files that the user supplies.

GroupLens does not allow the data to be passed on. Users with a copy of the archive ``ml-1m.zip`` (Harper & Konstan
2015, "The MovieLens Datasets", https://grouplens.org/datasets/movielens/1m/) unpack it and name the folder. Read are
``ratings.dat``, lines ``user::movie::rating::timestamp``, and ``movies.dat``, lines ``movie::title::genre|genre|...``,
both in Latin-1.

The paper's section 5.2: the base arms are the 100 movies with most ratings; a set of movies is independent if its
genre vectors (18 genres, 1 for each that the movie has) are linearly independent; every round a random user comes, and
a movie's outcome is 1 if that user has rated it, so its mean is its number of ratings over 6,040 users. There K = 17,
n = 20,000 and epsilon = 2.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from algorithms.problems.linear_matroid import LinearMatroid
from algorithms.problems.logged_users import LoggedUsers
from algorithms.problems.problem_errors import ProblemError, checked_count


def movielens(folder: str | Path, movies: int = 100) -> LoggedUsers:
    """Return the problem of recommending diverse popular movies.

    Parameters
    ----------
    folder
        The unpacked archive, with ``ratings.dat`` and ``movies.dat``.
    movies
        The number of movies with most ratings that are base arms (the lowest id first among equals). Arms are in the
        order of the movies' ids: in that of popularity a learner that breaks ties by the lowest arm would know
        the best basis from the start.

    Returns
    -------
    LoggedUsers
        A matroid problem; users are those with a rating of any movie. A base arm is called by title and genres.

    Raises
    ------
    ProblemError
        If a file cannot be read, a line has another form, a rated movie is not in ``movies.dat``, or fewer
        movies are rated than asked for.
    """
    movies = checked_count("movies", movies)
    folder = Path(folder)
    titles, genres = _movies(folder / "movies.dat")
    raters = _raters(folder / "ratings.dat")
    if len(raters) < movies:
        raise ProblemError(f"movies = {movies}: only {len(raters)} movies have a rating")
    chosen = sorted(sorted(raters, key=lambda movie: (-len(raters[movie]), movie))[:movies])
    for movie in chosen:
        if movie not in genres:
            raise ProblemError(f"{folder / 'movies.dat'}: movie {movie} has ratings but no line")
    everyone = {user: row for row, user in enumerate(sorted(set().union(*raters.values())))}
    outcomes = np.zeros((len(everyone), movies))
    for arm, movie in enumerate(chosen):
        outcomes[[everyone[user] for user in raters[movie]], arm] = 1.0
    names = sorted(set().union(*genres.values()))
    vectors = [[int(name in genres[movie]) for name in names] for movie in chosen]
    described = [f"{titles[movie]}: {', '.join(sorted(genres[movie]))}" for movie in chosen]
    return LoggedUsers(LinearMatroid(vectors), outcomes, described)


def _raters(path: Path) -> dict[int, set[int]]:
    """Return each movie's raters, the users with a rating of it."""
    raters: dict[int, set[int]] = {}
    for place, (user, movie, _, _) in _rows(path, 4):
        raters.setdefault(_parse_number(movie, place), set()).add(_parse_number(user, place))
    return raters


def _movies(path: Path) -> tuple[dict[int, str], dict[int, frozenset[str]]]:
    """Return each movie's title and genres."""
    titles: dict[int, str] = {}
    genres: dict[int, frozenset[str]] = {}
    for place, (movie, title, kinds) in _rows(path, 3):
        number = _parse_number(movie, place)
        titles[number], genres[number] = title, frozenset(kinds.split("|"))
    return titles, genres


def _rows(path: Path, fields: int) -> Iterator[tuple[str, list[str]]]:
    """Yield the place of each line of a file, and its fields."""
    try:
        text = path.read_text(encoding="latin-1")
    except OSError as error:
        raise ProblemError(f"{path}: cannot be read: {error.strerror}") from error
    for number, line in enumerate(text.splitlines(), start=1):
        row = line.split("::")
        if len(row) != fields:
            raise ProblemError(f"{path}, line {number}: must have {fields} fields separated by ::")
        yield f"{path}, line {number}", row


def _parse_number(text: str, place: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise ProblemError(f"{place}: {text!r} must be a whole number")
    return int(text)
