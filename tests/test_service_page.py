"""The commands of the page on the service run: stores, keys and servers, and curl's answers are those shown."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

PAGE = (Path(__file__).parent.parent / "docs" / "service.md").read_text()
BLOCKS = re.findall(r"```sh\n(.*?)```", PAGE, flags=re.DOTALL)
FILES = re.findall(r"```toml\n(.*?)```", PAGE, flags=re.DOTALL)


def shell(script, folder, **variables):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, **variables}
    done = subprocess.run(
        ["bash", "-euc", script], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def keys_of(answer):
    if isinstance(answer, dict):
        return {key: keys_of(value) for key, value in answer.items()}
    return [keys_of(each) for each in answer[:1]] if isinstance(answer, list) else None


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("curl") is None, reason="the page is for curl, which is not here")
@pytest.mark.parametrize(
    ("setup", "files", "asked"),
    [((0,), (0,), 1), ((2,), (1,), 3), ((2, 4), (1, 2), 5)],
    ids=["a ledger", "a learner", "contexts"],
)
def test_the_page_runs(setup, files, asked, tmp_path):
    pytest.importorskip("uvicorn")
    lines = "".join(BLOCKS[block] for block in setup).replace("\\\n", " ").splitlines()
    *_, serve = (line.partition("#")[0] for line in lines if line.startswith("dpwitness serve"))
    variables = {}
    for line in lines:
        if line.startswith(("dpwitness keys", "dpwitness ledger", "mkdir")):
            said = shell(line, tmp_path)
            if line.startswith("dpwitness keys"):
                variables[line.split()[4].upper()] = said.split()[-1]
    port = free_port()
    said = "".join(FILES[block] for block in files)
    (tmp_path / serve.split()[2]).write_text(f"port = {port}\n{said}")
    main = "from verify.commands.command_line import main; main()"
    command = [sys.executable, "-c", main, *serve.split()[1:]]
    server = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL)
    try:
        for _ in range(300):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                time.sleep(0.1)
        script = BLOCKS[asked].replace("8080", str(port))
        ticket = None
        for ask, shown in re.findall(r"(curl .*?)\n# (\{.*?)\n", script, flags=re.DOTALL):
            if ticket is not None:
                ask = re.sub(r'"ticket": "[^"]+"', f'"ticket": "{ticket}"', ask)
            answer = json.loads(shell(ask, tmp_path, **variables))
            assert keys_of(answer) == keys_of(json.loads(shown))
            ticket = answer.get("ticket")
    finally:
        server.terminate()
        server.wait()
