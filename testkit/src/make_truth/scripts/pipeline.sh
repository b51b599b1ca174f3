# Four programs at once, with pipes between them.
seq 1 600000 | awk '{ print ($1 * 7919) % 600011 }' | LC_ALL=C sort -S 40M | gzip -6 > sorted.gz
