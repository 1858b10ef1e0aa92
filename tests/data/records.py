"""The records of the tests' data sets: bytes that depend on the number alone."""

import random

RECORDS = 400


def record(number):
    return random.Random(number).randbytes(500 + number * 37 % 5000)


def write_files(folder, count=RECORDS):
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        (folder / f"{number:06}").write_bytes(record(number))
    return folder
