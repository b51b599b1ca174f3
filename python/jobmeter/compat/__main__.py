"""`python -m jobmeter.compat` prints the folder to put on PYTHONPATH for programs that cannot call `install`."""

from . import NAMES_FOLDER

print(NAMES_FOLDER)
