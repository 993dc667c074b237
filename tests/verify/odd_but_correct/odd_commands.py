"""Correct commands that print in odd ways: awk, Perl and shell scripts on one line each, claimed to be 1-private."""

import shlex

from mechanisms import Categories, Interval
from verify import AnyTwo, ReplaceOne
from verify.functions.command_subject import command_subject

NUMBER, LABEL, BITS = AnyTwo(Interval(0, 1)), AnyTwo(Categories(2)), ReplaceOne(Categories(2), 6)

AWK = """{ match($0, /"data": *[-0-9.e]+/); x = substr($0, RSTART, RLENGTH); sub(/.*: */, "", x); x += 0
srand(ENVIRON["DPWITNESS_SEED"] % 2147483647)
for (i = 0; i < ENVIRON["DPWITNESS_LANES"]; i++) { e = log(1 - rand()) - log(1 - rand()); SHOW } }"""
"""A number and Laplace noise e for each lane."""

PERL = """my ($x) = <STDIN> =~ /"data":\\s*\\[?([^\\]"}]+)[\\]},]/; my $n = () = $x =~ /1/g;
srand($ENV{DPWITNESS_SEED} % 4294967296);
for (1 .. $ENV{DPWITNESS_LANES}) { my $keep = rand() < exp(1) / (exp(1) + 1); my $r = $keep ? $n > 0 : !($n > 0);
my $e = log(1 - rand()) - log(1 - rand()); SHOW }"""
"""The number n of ones, a response r to whether there is one, and Laplace noise e for each lane."""

SHELL = """read -r question; case $question in *'"data": 1'*) truth=1;; *) truth=0;; esac; RANDOM=$DPWITNESS_SEED
for ((i = 0; i < DPWITNESS_LANES; i++)); do u=$(( (RANDOM << 15) | RANDOM ))
if [ $u -lt 784970580 ]; then said=$truth; else said=$((1 - truth)); fi; SHOW; done"""
"""A response `said` for each lane: 784970580 of 2^30 is e / (e + 1), rounded down."""


def command(program, option, script, what, neighbours):
    """Return a command as a subject."""
    words = shlex.join([program, *option.split(), script.replace("SHOW", what)])
    return command_subject(words, neighbours)


SUBJECTS = {
    "awk-with-spaces": command("awk", "", AWK, 'printf "   %.6e   \\r\\n", x + e', NUMBER),
    "awk-rounded": command("awk", "", AWK, 'printf "%d\\n", (x + e) * 4', NUMBER),
    "awk-words": command("awk", "", AWK, 'printf "\\"about %.1f\\"\\n\\n", x + e', NUMBER),
    "awk-null": command("awk", "", AWK, 'print (x + e > 1 ? x + e : "null")', NUMBER),
    "perl-objects": command("perl", "-e", PERL, 'printf "{\\"n\\": %.2f, \\"of\\": [6, null]}\\n", $n + $e', BITS),
    "perl-large": command("perl", "-e", PERL, 'printf "%.0f\\n", 1e15 + 1e13 * ($n + $e)', BITS),
    "perl-ragged": command("perl", "-e", PERL, 'print "[" . join(",", (0) x ($r ? 1 : 3)) . "]\\n"', LABEL),
    "perl-talks": command("perl", "-e", PERL, 'print STDERR "note $_\\n"; print $r ? "true\\n" : "false\\n"', LABEL),
    "bash-words": command("bash", "-c", SHELL, """echo '"no. '$said'"'""", LABEL),
    "bash-nested": command("bash", "-c", SHELL, 'echo "[[[$said]],{\\"\\":{}}]"', LABEL),
}  # fmt: skip
SUBJECTS = {name: (subject, None, 1.0, 0.0) for name, subject in SUBJECTS.items()}
