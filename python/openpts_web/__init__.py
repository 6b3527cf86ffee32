"""The library of runs in a browser: pages that lie on any web host, without a server."""
