"""Commands and options that had another name before: one table, from which an unknown name gets its error."""

from __future__ import annotations

from collections.abc import Mapping

OLD_NAMES: Mapping[str, str] = {
    "certify": "verify SUBJECT --certificate FILE",
    "certificate": "check FILE",
    "evaluate": "simulate LEARNERS --log FILE",
    "audit-repo": "gone: list the releases in a file, and audit that",
    "schema": "gone: the JSON schemas are in docs/schemas",
    "run": "ledger create STORE --learner NAME",
    "run create": "ledger create STORE --learner NAME",
    "run tickets": "ledger show STORE",
    "run lapse": "ledger amend STORE --expire AGE",
    "ledger import": "ledger create STORE --from FILE",
    "ledger verify": "check STORE",
    "ledger left": "ledger show STORE RECORDS",
    "ledger reservations": "ledger show STORE",
    "ledger export": "ledger show STORE -o FILE.json",
    "ledger rules": "ledger show STORE, or ledger amend STORE --rules FILE",
    "ledger adopt": "ledger amend STORE --promote",
    "ledger clock": "ledger amend STORE --accept-clock",
    "ledger erase": "ledger amend STORE --erase RECORD",
    "ledger give-back": "ledger amend STORE --cancel NUMBER",
    "ledger rotate": "ledger amend STORE --rotate-keys FILE",
    "ledger key": "ledger create STORE --name-keys FILE, or ledger amend STORE --rotate-keys FILE",
    "ledger fold": "gone: accountant.stores.folding.fold does it in Python",
    "keys add": "keys STORE --add NAME",
    "keys list": "keys STORE",
    "keys remove": "keys STORE --remove NAME",
    "--plot": "--output FILE.png",
    "--csv": "--output FILE.csv",
    "--markdown": "--output FILE.md",
    "--store": "--cache FOLDER",
    "--scheduler": "--workers dask:ADDRESS",
    "--backend": "--workers dask",
    "--names": "--name-keys FILE",
    "--by": "--author NAME",
    "verify --neighbours": "--data",
    "--neighbours": "--neighbors",
    "--false-alarm": "--significance",
    "verify --wealth": "--anytime FILE",
    "verify --verbose": "gone: -o FILE.html and --json have everything",
    "verify --confidence": "gone: bounds are at 95 %",
    "--part": "gone: --workers dask:ADDRESS divides runs among machines",
    "--checkpoints": "gone: there are 50",
    "audit --time-limit": "gone: the answer is what is proved after a minute",
    "calibrate --time-limit": "gone: the answer is what is proved after a minute",
    "regret --time-limit": "gone: stop it, and with --cache FOLDER it goes on from there",
    "verify --mutants": "gone: faults are planted in dpwitness's own tests",
    "verify --fault": "gone: faults are planted in dpwitness's own tests",
    "verify --stub": "gone: install what the file imports",
    "audit --risk": "gone: what attacks may reach is always shown",
    "calibrate --tpr": "--rates FPR TPR",
    "calibrate --fpr": "--rates FPR TPR",
    "regret --error": "--significance",
    "regret --growth": "--test growth",
    "regret --scaling": "--test exponent --set NAME=VALUES",
    "regret --local-claim": "--test lower-bound --set claim=EPSILON",
    "regret --all": "gone: one learner is tested at a time",
    "regret --printed": "gone: one learner is tested at a time",
    "reproduce --data": "--movielens FOLDER",
    "reproduce --out": "--output-dir FOLDER",
    "list --long": "--verbose",
    "list --horizon": "gone: learners are compared at 100,000 rounds",
    "list --delta": "gone: learners with and without delta are both shown",
    "report --budget": "audit FILE --budget EPSILON -o FILE.html",
    "report --delta": "audit FILE --delta DELTA -o FILE.html",
    "report --neighbours": "audit FILE --neighbors RELATION -o FILE.html",
    "serve --store": "store = STORE in CONFIG.toml",
    "serve --run": "[[run]] in CONFIG.toml",
    "serve --build": "build in [[run]] of CONFIG.toml",
    "serve --code": "accept_code in [[run]] of CONFIG.toml",
    "serve --keys": "keys in CONFIG.toml",
    "serve --host": "host in CONFIG.toml",
    "serve --port": "port in CONFIG.toml",
    "serve --anchor": "anchor in CONFIG.toml",
    "serve --names": "name_keys in CONFIG.toml",
    "serve --certificate": "certfile in [tls] of CONFIG.toml",
    "serve --certificate-key": "keyfile in [tls] of CONFIG.toml",
    "serve --plain": "behind_proxy in [tls] of CONFIG.toml",
    "serve --rate": "requests_per_second in [limits] of CONFIG.toml",
    "serve --seconds": "timeout in [limits] of CONFIG.toml",
    "serve --body": "max_body in [limits] of CONFIG.toml",
}
"""New name of each old command and option. An option stands with its command, or alone if several had it."""


def new_name_sentence(path: str, name: str) -> str:
    """Return a sentence with the new name of an old command or option; an empty one for any other name.

    Parameters
    ----------
    path
        The command whose option it is, or the group whose command, without the program's name; empty for all commands.
    name
        As it is typed.
    """
    for key in (f"{path} {name}".strip(), name if name.startswith("-") else ""):
        if key in OLD_NAMES:
            now = OLD_NAMES[key]
            return f"{key} is {now if now.startswith('gone: ') else f'now {now}'}"
    return ""
