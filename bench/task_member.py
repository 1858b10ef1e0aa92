"""For suite `task`: main and workers, of a task or of a plain transfer by TCP, as processes.

  task_member.py task-main|task-worker|tcp-main|tcp-worker --size N ...

A main prints {"seconds", "cpu_s", "digest"} when each worker has all data, a worker {"digest", "bytes"};
the digest is of all data. Both ways hash the data at main and at each worker within the measured time,
and main waits for each worker's word; what is printed is hashed once more after that.
"""

import argparse
import hashlib
import json
import socket
import struct
import threading
import time

WORKERS = 8
PORT = 7000
HEAD = struct.Struct(">Q32s")
READ = 1 << 20


def data_of(size):
    """Bytes that no compression shortens, the same in every run; each MiB is another one."""
    blocks = -(-size // READ)
    return b"".join(hashlib.shake_256(b"task%d" % i).digest(READ) for i in range(blocks))[:size]


def tell(**said):
    print(json.dumps(said), flush=True)


def timed(send, data):
    print("ready", flush=True)
    began, cpu = time.perf_counter(), time.process_time()
    send(data)
    seconds, spent = time.perf_counter() - began, time.process_time() - cpu
    tell(seconds=seconds, cpu_s=spent, digest=hashlib.sha256(data).hexdigest())


def task_main(options):
    import tributary

    job = {"job": 1, "rank": 0, "size": WORKERS + 1, "address": options.address}
    with tributary.Task("main", job=job) as task:
        def send(data):
            task.distribute(data, criterion={"most_rounds": 0})

        timed(send, data_of(options.size))


def task_worker(options):
    import tributary

    job = {"job": 1, "rank": options.rank + 1, "size": WORKERS + 1, "address": options.address}
    sums = {"job": 2, "rank": options.rank, "size": WORKERS, "address": options.address}
    with tributary.Task("worker", job=job, sums=sums, memory_bytes=options.size) as task:
        data, _ = task.receive()  # it has compared the digest of the whole
        tell(digest=hashlib.sha256(data).hexdigest(), bytes=len(data))


def tcp_main(options):
    def send(data):
        head = HEAD.pack(len(data), hashlib.sha256(data).digest())
        failed = []

        def to(host):
            try:
                with socket.create_connection((host, PORT)) as connection:
                    connection.sendall(head)
                    connection.sendall(data)
                    assert connection.recv(1) == b"1"
            except (OSError, AssertionError) as error:
                failed.append(error)

        threads = [threading.Thread(target=to, args=(host,)) for host in options.hosts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failed:
            raise failed[0]

    timed(send, data_of(options.size))


def tcp_worker(options):
    with socket.create_server((options.host, PORT)) as server:
        print("ready", flush=True)
        connection, _ = server.accept()
    with connection:
        length, digest = HEAD.unpack(connection.recv(HEAD.size, socket.MSG_WAITALL))
        data, at, found = memoryview(bytearray(length)), 0, hashlib.sha256()
        while at < length:
            got = connection.recv_into(data[at : at + READ])
            if got == 0:
                raise ConnectionError(f"{at} of {length} bytes came")
            found.update(data[at : at + got])
            at += got
        connection.sendall(b"1" if found.digest() == digest else b"0")
    tell(digest=hashlib.sha256(data).hexdigest(), bytes=length)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    roles = {"task-main": task_main, "task-worker": task_worker, "tcp-main": tcp_main, "tcp-worker": tcp_worker}
    parser.add_argument("role", choices=roles)
    parser.add_argument("--size", type=int, required=True)
    parser.add_argument("--rank", type=int)
    parser.add_argument("--address")
    parser.add_argument("--host")
    parser.add_argument("--hosts", nargs="*")
    options = parser.parse_args()
    roles[options.role](options)


if __name__ == "__main__":
    main()
