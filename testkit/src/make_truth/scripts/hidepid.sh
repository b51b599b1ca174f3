# A program that runs as root for an ordinary user, where /proc hides other users' processes.
./setuid-testkit burn 200
./setuid-testkit copy < block > copied
sleep 0.2
