# x + Lap(1) for every line of the answer, as a difference of two exponential draws.
{
    match($0, /"data": *[-0-9.e]+/)
    x = substr($0, RSTART, RLENGTH)
    sub(/.*: */, "", x)
    srand(ENVIRON["DPWITNESS_SEED"] % 2147483647)
    for (i = 0; i < ENVIRON["DPWITNESS_LANES"]; i++)
        printf "%.9g\n", x + 0 - log(1 - rand()) + log(1 - rand())
}
