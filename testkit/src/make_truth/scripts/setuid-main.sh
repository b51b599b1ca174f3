# The main process itself becomes a program of root's, where /proc hides other users' processes.
exec ./setuid-testkit copy < block > copied
