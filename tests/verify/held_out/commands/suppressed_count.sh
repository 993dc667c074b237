# The exact number of ones, or null below three; no noise.
read -r question
data=${question#*\"data\": }
data=${data%%]*}
ones=${data//[!1]/}
answer=null
if [ ${#ones} -ge 3 ]; then answer=${#ones}; fi
for ((i = 0; i < DPWITNESS_LANES; i++)); do echo "$answer"; done
