"""`openpts serve`: a library of runs in a browser."""

import os
import secrets
import shlex
from pathlib import Path
from typing import Final

import click

from openpts.cli.options import FILE, FOLDER, argument, flag, option, with_options
from openpts.errors import UsageError

_RUNS: Final = Path("openpts-runs")
_LEAST_TOKEN: Final = 16
_LONGEST_TOKEN: Final = 4096

_WITH_TLS: Final = """\b
For others on the network
  This speaks HTTP, which anyone on the way can read. Leave it on the loopback
  address, and let a web server that has a certificate stand before it:
    openpts serve --token-file token --name lab.example.org --proxy 127.0.0.1
    caddy reverse-proxy --from lab.example.org --to 127.0.0.1:8080
"""


@click.command("serve", short_help="Show a library of runs in a browser.", epilog=_WITH_TLS)
@with_options
def serve(
    *,
    places: tuple[str, ...] = argument("[DIR]...", nargs=-1),
    host: str = option("--address ADDRESS", "Listen on this address.", default="127.0.0.1"),
    port: int = option("--port PORT", "Listen on this port.", click.IntRange(0, 65535), default=8080),
    names: tuple[str, ...] = option(
        "--name HOST", "Answer browsers that use this name, too; may be repeated.", multiple=True
    ),
    token_file: Path | None = option(
        "FILE", "Admit only those who have the token in this file; made where needed without one.", FILE
    ),
    proxies: tuple[str, ...] = option(
        "--proxy ADDRESS",
        "Take clients from the X-Forwarded-For of this web server; may be repeated. [default: none]",
        multiple=True,
    ),
    allow_control: bool = flag("Let pages stop runs, and start plans that were prepared."),
    plans: Path | None = option("DIR", "Plan files that pages may start, with --allow-control.", FOLDER),
) -> None:
    """Serve the runs below DIR to browsers: read only, until Ctrl-C.

    Without a place it is openpts-runs. Each run has a page with its figures, conditions and files; a run in
    progress is shown live. Runs can be filtered, compared, held against limits and followed over time.
    Beyond the loopback address a token is required.
    """
    if plans is not None and not allow_control:
        raise UsageError("--plans are what --allow-control may start: give both, or neither")
    from openpts_web.safety import Rules  # noqa: PLC0415 help needs none of it
    from openpts_web.server import run_server  # noqa: PLC0415 likewise

    rules = Rules.of(host, names, _token(token_file, host), proxies)
    run_server(places or (str(_RUNS),), host, port, rules=rules, plans=plans, allow_control=allow_control,
               tell=click.echo)  # fmt: skip


def _token(file: Path | None, host: str) -> str | None:
    """What the file says; beyond the loopback address one that is made for this process, and printed."""
    from openpts_web.safety import is_loopback  # noqa: PLC0415 likewise

    if file is None:
        if is_loopback(host):
            return None
        token = secrets.token_urlsafe(24)
        click.echo(f"token: {token}")
        return token
    try:
        with file.open(encoding="utf-8") as opened:
            mode, token = os.fstat(opened.fileno()).st_mode, opened.read(_LONGEST_TOKEN).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"can't read --token-file {file}: {error}") from error
    if mode & 0o077:
        raise UsageError(f"--token-file {file} is not for you alone: `chmod 600 {shlex.quote(str(file))}`")
    if len(token) < _LEAST_TOKEN:
        raise UsageError(
            f"--token-file {file}: a token has {_LEAST_TOKEN} characters or more: `openssl rand -hex 24`"
        )
    return token
