# A namespace of its own whose first process ends: the kernel kills the others and nobody waits for them.
unshare --user --map-root-user --pid --fork /bin/sh -c '
    for child in 1 2 3; do
        "$TESTKIT" burn 60000 &
    done
    "$TESTKIT" burn 150
'
sleep 0.2
