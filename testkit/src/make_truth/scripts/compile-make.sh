# Many short compilers below make: 24 files, two at a time.
i=0
while [ $i -lt 24 ]; do
    printf '#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\nint f%s(int n) { char b[64]; snprintf(b, 64, "%%d", n); return (int)strlen(b); }\n' $i > f$i.c
    i=$((i + 1))
done
printf 'all: $(patsubst %%.c,%%.o,$(wildcard *.c))\n%%.o: %%.c\n\tcc -O1 -c $< -o $@\n' > Makefile
make -s -j2
