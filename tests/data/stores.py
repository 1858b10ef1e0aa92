"""Stores for tests: S3 with signatures that are checked, and WebHDFS, both over a folder.

The check of SigV4 is written after Amazon's description, not after the code under test. A store
misbehaves as a test asks it to, request by request.
"""

import hashlib
import hmac
import http.server
import json
import socket
import struct
import threading
import urllib.parse
from pathlib import Path
from xml.sax.saxutils import escape

KEY, SECRET = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        store = self.server.store
        store.requests += 1
        fault = store.fault(self.path) if store.fault else None
        if fault == "hang":
            store.released.wait(60)
            self.close_connection = True
        elif fault == "half":
            self.answer_half()
        elif fault == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
        elif fault == "standby":
            self.answer(403, b'{"RemoteException":{"exception":"StandbyException","message":""}}')
        elif fault == "circle":
            self.answer(307, b"", {"Location": self.path})
        elif fault is not None:
            self.answer(fault, b"<Error><Code>Made</Code></Error>")
        else:
            store.serve(self)

    def answer(self, status, body, headers=None):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def answer_range(self, data, headers):
        asked = self.headers.get("Range")
        if asked is None:
            return self.answer(200, data, headers)
        first, last = asked.removeprefix("bytes=").split("-")
        headers["Content-Range"] = f"bytes {first}-{last}/{len(data)}"
        return self.answer(206, data[int(first) : int(last) + 1], headers)

    def answer_half(self):
        """The head of the right answer to a ranged GET, or to an OPEN; four bytes of its body."""
        asked = self.headers.get("Range")
        query = dict(urllib.parse.parse_qsl(self.path.partition("?")[2]))
        self.send_response(200 if asked is None else 206)
        length = int(query.get("length", "1000000"))
        if asked is not None:
            first, last = asked.removeprefix("bytes=").split("-")
            length = int(last) + 1 - int(first)
            size = (self.server.store.folder / self.path.rpartition("/")[2]).stat().st_size
            self.send_header("Content-Range", f"bytes {first}-{last}/{size}")
        self.send_header("Content-Length", str(length))
        self.end_headers()
        self.wfile.write(b"half")
        self.close_connection = True


class _Store:
    def __init__(self, folder):
        self.folder = Path(folder)
        self.requests = 0
        self.fault = None  # path → a status, "hang", "half", "reset", "standby", "circle", or None
        self.released = threading.Event()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.store = self
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()
        self.port = self.server.server_address[1]

    def close(self):
        self.released.set()
        self.server.shutdown()
        self.server.server_close()

    def files(self, below=""):
        base = self.folder / below
        return sorted(p.relative_to(self.folder).as_posix() for p in base.rglob("*") if p.is_file())


class S3(_Store):
    """Bucket `bucket`; objects are the folder's files, and `objects`, for keys that no file can have.
    Wrong signatures get 403."""

    def __init__(self, folder):
        self.objects = {}
        super().__init__(folder)

    @property
    def url(self):
        return f"s3://bucket?endpoint=http%3A%2F%2F127.0.0.1%3A{self.port}"

    def serve(self, request):
        if not signature_fits(request.path, request.headers):
            return request.answer(403, b"<Error><Code>SignatureDoesNotMatch</Code></Error>")
        path, _, query = request.path.partition("?")
        name = urllib.parse.unquote(path).removeprefix("/bucket").removeprefix("/")
        if not name:
            return self._list(request, dict(urllib.parse.parse_qsl(query)))
        if name not in self.objects and not (self.folder / name).is_file():
            return request.answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
        data = self._data(name)
        return request.answer_range(data, {"ETag": f'"{hashlib.md5(data).hexdigest()}"'})

    def _data(self, name):
        return self.objects[name] if name in self.objects else (self.folder / name).read_bytes()

    def _list(self, request, query):
        """Pages of three objects. Keys are in XML as they are unless the request asks for URLs' escapes."""
        names = [n for n in [*self.files(), *self.objects] if n.startswith(query.get("prefix", ""))]
        encoded = query.get("encoding-type") == "url"
        start = int(query.get("continuation-token", "0"))
        xml = "<EncodingType>url</EncodingType>" if encoded else ""
        for name in names[start : start + 3]:
            data = self._data(name)
            key = urllib.parse.quote_plus(name, safe="/") if encoded else escape(name)
            xml += (f"<Contents><Key>{key}</Key><Size>{len(data)}</Size>"
                    f"<ETag>&quot;{hashlib.md5(data).hexdigest()}&quot;</ETag></Contents>")
        if start + 3 < len(names):
            xml += f"<NextContinuationToken>{start + 3}</NextContinuationToken>"
        request.answer(200, f"<ListBucketResult>{xml}</ListBucketResult>".encode())


def signature_fits(target, headers):
    """AWS Signature Version 4, as the developer guide describes it."""
    given = headers.get("Authorization", "")
    if not given.startswith("AWS4-HMAC-SHA256 "):
        return False
    fields = dict(f.strip().split("=", 1) for f in given[len("AWS4-HMAC-SHA256 ") :].split(","))
    key, date, region, service, _ = fields["Credential"].split("/")
    path, _, query = target.partition("?")
    pairs = sorted(urllib.parse.parse_qsl(query, keep_blank_values=True))
    canonical_query = "&".join(
        f"{urllib.parse.quote(k, safe='-_.~')}={urllib.parse.quote(v, safe='-_.~')}" for k, v in pairs
    )
    signed = fields["SignedHeaders"].split(";")
    if "host" not in signed or "x-amz-date" not in signed:
        return False
    canonical = "\n".join(
        ["GET", urllib.parse.quote(urllib.parse.unquote(path), safe="/-_.~"), canonical_query]
        + [f"{h}:{' '.join(headers[h].split())}" for h in signed]
        + ["", fields["SignedHeaders"], headers["x-amz-content-sha256"]]
    )
    scope = f"{date}/{region}/{service}/aws4_request"
    to_sign = "\n".join(["AWS4-HMAC-SHA256", headers["x-amz-date"], scope,
                         hashlib.sha256(canonical.encode()).hexdigest()])
    secret = ("AWS4" + SECRET).encode()
    for part in (date, region, service, "aws4_request"):
        secret = hmac.new(secret, part.encode(), hashlib.sha256).digest()
    wanted = hmac.new(secret, to_sign.encode(), hashlib.sha256).hexdigest()
    return key == KEY and hmac.compare_digest(wanted, fields["Signature"])


class WebHdfs(_Store):
    """A name node and a data node in one; OPEN is answered with a redirect, as HDFS does."""

    @property
    def url(self):
        return f"webhdfs://127.0.0.1:{self.port}/?user=me"

    def serve(self, request):
        path, _, query = request.path.partition("?")
        query = dict(urllib.parse.parse_qsl(query))
        if path.startswith("/data/"):
            data = (self.folder / urllib.parse.unquote(path.removeprefix("/data/"))).read_bytes()
            start = int(query["offset"])
            return request.answer(200, data[start : start + int(query["length"])])
        name = urllib.parse.unquote(path).removeprefix("/webhdfs/v1").strip("/")
        place = self.folder / name
        if not place.exists():
            return request.answer(404, b'{"RemoteException":{"exception":"FileNotFoundException"}}')
        if query["op"] == "OPEN":
            where = f"http://127.0.0.1:{self.port}/data/{urllib.parse.quote(name)}?"
            where += urllib.parse.urlencode({k: query[k] for k in ("offset", "length")})
            return request.answer(307, b"", {"Location": where})
        if query["op"] == "GETFILESTATUS":
            return request.answer(200, json.dumps({"FileStatus": _status(place, "")}).encode())
        found = [_status(p, p.name) for p in sorted(place.iterdir())]
        return request.answer(200, json.dumps({"FileStatuses": {"FileStatus": found}}).encode())


def _status(place, suffix):
    kind = "DIRECTORY" if place.is_dir() else "FILE"
    stat = place.stat()
    return {"pathSuffix": suffix, "type": kind, "length": stat.st_size if kind == "FILE" else 0,
            "modificationTime": stat.st_mtime_ns // 1_000_000}
