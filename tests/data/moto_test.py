"""The pool's S3 store beside moto's server, which computes each signature anew from the secret: the right
one works, and wrong ones are refused, and said.

TRIBUTARY_MOTO: the folder that `pip install --target FOLDER 'moto[iam,s3,server]'` filled. Not one of
ctest's tests, which fetch nothing: `TRIBUTARY_BUILD=... TRIBUTARY_MOTO=FOLDER tests/data/moto_test.py`.
moto signs paths as it has decoded them, so names here are plain; s3rver_test.py has others.
"""

import json
import os
import subprocess
import sys
import threading
import urllib.parse

import botocore.session
import pytest

from bed import PoolBed, free_port, package

package()
from tributary.data import LoadError, Pool  # noqa: E402

FOLDER = os.environ["TRIBUTARY_MOTO"]
SERVE = "import sys; from moto.server import main; main(sys.argv[1:])"
REGION = "eu-central-1"
OBJECTS = {f"set/{number:03}": os.urandom(number * 53 % 4000 + 1) for number in range(30)}
ALLOWED = {"Version": "2012-10-17",
           "Statement": [{"Effect": "Allow", "Action": ["s3:ListBucket", "s3:GetObject"], "Resource": "*"}]}
# Requests before moto checks any: one to make a user, its key and policy, and the bucket; and the objects.
UNCHECKED = 4 + len(OBJECTS)


class Moto:
    """moto with OBJECTS in the bucket `bucket`, and a user who may read it."""

    def __init__(self, port):
        self.at = f"http://127.0.0.1:{port}"
        self.url = f"s3://bucket/set?endpoint={urllib.parse.quote(self.at, safe='')}&region={REGION}"
        iam, s3 = self._client("iam"), self._client("s3")
        iam.create_user(UserName="loader")
        key = iam.create_access_key(UserName="loader")["AccessKey"]
        iam.put_user_policy(UserName="loader", PolicyName="read", PolicyDocument=json.dumps(ALLOWED))
        self.environment = {"AWS_ACCESS_KEY_ID": key["AccessKeyId"],
                            "AWS_SECRET_ACCESS_KEY": key["SecretAccessKey"]}
        s3.create_bucket(Bucket="bucket", CreateBucketConfiguration={"LocationConstraint": REGION})
        for name, data in OBJECTS.items():
            s3.put_object(Bucket="bucket", Key=name, Body=data)

    def _client(self, service):
        return botocore.session.Session().create_client(
            service, REGION, endpoint_url=self.at, aws_access_key_id="any", aws_secret_access_key="any")


@pytest.fixture(scope="module")
def server():
    port = free_port()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([FOLDER, os.environ.get("PYTHONPATH", "")]),
                   "INITIAL_NO_AUTH_ACTION_COUNT": str(UNCHECKED), "PYTHONDONTWRITEBYTECODE": "1"}
    with subprocess.Popen([sys.executable, "-B", "-c", SERVE, "-H", "127.0.0.1", "-p", str(port)],
                          env=environment, stderr=subprocess.PIPE, text=True) as process:
        try:
            for line in process.stderr:
                if "Running on" in line:
                    break
            threading.Thread(target=process.stderr.read, daemon=True).start()  # else it waits for its log
            yield Moto(port)
        finally:
            process.terminate()


def test_l1_the_right_secret_reads_what_is_there(tmp_path, server, monkeypatch):
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    with PoolBed(tmp_path, server.url, env=server.environment) as bed:
        pool = Pool(bed.ready().config)
        assert [bytes(data) for data in pool.get_batch(range(len(pool)))] == list(OBJECTS.values())
        assert pool.stats()["misses"] == 0, "the nodes have read them"
        bed.command("evict")
        alone = Pool(bed.config)
        assert bytes(alone.get_batch([7])[0]) == OBJECTS["set/007"]
        assert alone.stats()["misses"] == 1, "the loader has read it"


@pytest.mark.parametrize("name, value, code", [
    ("AWS_SECRET_ACCESS_KEY", "wrong", "SignatureDoesNotMatch"),
    ("AWS_ACCESS_KEY_ID", "AKIAUNKNOWN", "InvalidAccessKeyId"),
])
def test_l1_wrong_credentials_are_refused_and_said(tmp_path, server, monkeypatch, name, value, code):
    with PoolBed(tmp_path, server.url, env={**server.environment, name: value}) as bed:
        done = bed.command("fill", "--manifest", check=False)
        assert done.returncode == 1 and "403" in done.stderr and code in done.stderr, done.stderr
        bed.env.update(server.environment)
        bed.command("fill", "--manifest")
        for variable, right in {**server.environment, name: value}.items():
            monkeypatch.setenv(variable, right)
        with pytest.raises(LoadError, match="403"):
            Pool(bed.config).get_batch([0])


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-q", "-p", "no:cacheprovider"]))
