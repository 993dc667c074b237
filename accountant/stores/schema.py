"""The tables of a store: the chained log of entries, and the totals that a charge reads in place of it.

`entry` is the ledger. Everything else follows from it (`accountant/stores/replayed_entries.py` says how, and
compares), but for salts and names of records, to which entries are committed, and answers to requests, which were
released. Rows that spending depends on carry a digest of themselves (`accountant.stores.chain.row_digest`): damage of a
row shows without reading the entries.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Integer, LargeBinary, MetaData, Table, Text, text

from accountant.stores.entry_bodies import RARE_WORDS

VERSION = 13
"""The version of these tables: that of the first release."""

METADATA = MetaData()

STORE = Table(
    "store",
    METADATA,
    Column("id", Integer, primary_key=True),  # one row, 1, which writers lock
    Column("version", Integer, nullable=False),
    Column("instance", Text, nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("location", Text, nullable=False),
    Column("closed", Text),
    Column("rules", BigInteger, nullable=False),  # the entry that has those in force; 0 without
    Column("clock", BigInteger, nullable=False),  # of the last charge, where a rule looks at the time
    Column("drift", BigInteger, nullable=False),  # its largest unnoticed advance
    Column("witness", Text),  # the machine's monotonic clock at that time
    Column("digest", LargeBinary, nullable=False),
)

_ENTRY = Table(
    "entry",
    METADATA,
    Column("position", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
    Column("body", Text, nullable=False),
    Column("hash", LargeBinary, nullable=False),
)

# As a list (IN) SQLite would make a table of them, for each entry that is written anew: 2 of 5 us of an INSERT.
_CASES = " ".join(f"WHEN '{each}' THEN 1" for each in RARE_WORDS)
RARE = f"CASE substr(body, 3, 7) {_CASES} ELSE 0 END = 1"
"""Condition of rare entries, which are read at any position when a store is opened."""

Index("rare", _ENTRY.c.position, sqlite_where=text(RARE), postgresql_where=text(RARE))

OUTCOME = "(substr(body, 3, 8) = 'answered' OR replace(replace(body, '\"drawn\":', ''), '\"returned\":', '') <> body)"
"""Condition of entries that end a reservation, or answer a request; few others match, and these name no charge."""

OUTCOME_OF = {
    "sqlite": "coalesce(json_extract(body, '$.drawn'), json_extract(body, '$.returned'), "
    "json_extract(body, '$.answered[0]'))",
    "postgresql": "coalesce((body::json ->> 'drawn')::bigint, (body::json ->> 'returned')::bigint, "
    "(body::json -> 'answered' ->> 0)::bigint)",
}
"""The position of such an entry's charge, by dialect; indexed, so that a row is compared with it on use."""

Table(
    "kind",
    METADATA,
    Column("digest", Text, primary_key=True),
    Column("position", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

# In one piece: in eight partitions, by a hash of the label, an account of a group of 64 took 37 to 52 us of the server
# instead of 16 to 22 (200,000 accounts, four writers), and no index would span them to keep numbers unique.
ACCOUNT = Table(
    "account",
    METADATA,
    Column("number", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
    Column("label", Text, unique=True),
    Column("salt", LargeBinary),
    Column("spent", Text, nullable=False),
    Column("counted", Text),  # by rules
    Column("digest", LargeBinary, nullable=False),
)

RESERVATION = Table(
    "reservation",
    METADATA,
    Column("position", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
    Column("state", Text, nullable=False),
    Column("until", BigInteger),  # of one that is open, its deadline
)

_OPEN = "state = 'reserved' AND until IS NOT NULL"
OPEN_WITH_DEADLINE = f"WHERE {_OPEN}"
"""Condition of reservations with a deadline, which may expire."""

Index("deadline", RESERVATION.c.until, sqlite_where=text(_OPEN), postgresql_where=text(_OPEN))

RUN = Table(
    "run",
    MetaData(),  # in stores of runs only
    Column("id", Integer, primary_key=True),
    Column("saves", BigInteger, nullable=False),
    Column("holder", Text, nullable=False),
    Column("state", LargeBinary, nullable=False),
)

KEPT = Table(
    "kept",
    RUN.metadata,
    Column("name", Text, primary_key=True),
    Column("value", LargeBinary, nullable=False),
    Column("digest", LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)

Table(
    "charges",
    RUN.metadata,  # since the last save; beside a file they are in one of their own
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("line", Text, nullable=False),
)

TALLY = Table(
    # Of kinds of charges; in the row of kind 0, of accounts, and the sum of the digests of their rows; in that of
    # kind -3, of rare entries, and the sum of their positions.
    "tally",
    METADATA,
    Column("kind", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
    Column("releases", BigInteger, nullable=False),
    Column("records", BigInteger, nullable=False),  # that it charged, each as often as it was charged
)

REQUEST = Table(
    "request",
    METADATA,
    Column("key", Text, primary_key=True),
    Column("position", BigInteger, nullable=False),
    Column("stamped", BigInteger, nullable=False),  # when the answer was charged, or drawn later
    Column("answered", Text),  # the digest of the answer, which may be erased
    Column("answer", LargeBinary),
    sqlite_with_rowid=False,
)
