# A test runner with two workers.
cat > test_sample.py <<'PY'
import pytest

@pytest.mark.parametrize("number", range(60))
def test_work(number):
    block = bytearray(5_000_000)
    for at in range(0, len(block), 4096):
        block[at] = 1
    assert sum(range(20_000)) > number
PY
"$TRUTH_VENV/bin/python" -m pytest -q -n2 -p no:cacheprovider test_sample.py > pytest.out
