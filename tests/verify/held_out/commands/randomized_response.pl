# 4-ary randomized response that keeps the truth with weight 1.5 e in place of e; prints objects.
my ($value) = <STDIN> =~ /"data":\s*(\d+)/;
my @words = qw(a b c d);
my $truth = 1.5 * exp(1) / (1.5 * exp(1) + 3);
srand($ENV{DPWITNESS_SEED} % 4294967296);
for (1 .. $ENV{DPWITNESS_LANES}) {
    my $reply = rand() < $truth ? $value : ($value + 1 + int(rand(3))) % 4;
    print "{\"value\": \"$words[$reply]\"}\n";
}
