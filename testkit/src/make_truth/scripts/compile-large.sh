# One compiler with a lot to do: a file of 400 functions, optimized.
echo '#include <math.h>' > large.c
i=0
while [ $i -lt 400 ]; do
    echo "double g$i(double x) { double s = $i; for (int i = 0; i < 9; i++) { s += sin(x * i) + (i % 3 ? s / 3 : x); } return s; }" >> large.c
    i=$((i + 1))
done
cc -O2 -c large.c -o large.o
