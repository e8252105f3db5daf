"""What other nodes of a cluster call this one."""

from __future__ import annotations

import os
import socket
from ipaddress import ip_address

import psutil

_NAMES = ("SLURMD_NODENAME", "SLURM_NODENAME")


def node_address() -> str:
    """The name that the cluster gives this node, else its own, where that leads to it from elsewhere as well;
    else the first address of it that is no loopback; else that, for nodes that are one machine."""
    own = _addresses()
    for name in (*(os.environ.get(variable, "") for variable in _NAMES), socket.getfqdn()):
        if name and not _resolved(name).isdisjoint(own):
            return name
    return own[0] if own else "127.0.0.1"


def _addresses() -> list[str]:
    """Of this machine, as others may reach it; those of IPv4 first."""
    up = {name for name, stats in psutil.net_if_stats().items() if stats.isup}
    found = [
        entry.address
        for family in (socket.AF_INET, socket.AF_INET6)
        for name, entries in psutil.net_if_addrs().items()
        if name in up
        for entry in entries
        if entry.family == family
    ]
    return [address for address in found if _is_reachable(address)]


def _is_reachable(address: str) -> bool:
    ip = ip_address(address.partition("%")[0])
    return not (ip.is_loopback or ip.is_link_local or ip.is_unspecified)


def _resolved(name: str) -> set[str]:
    try:
        return {str(entry[4][0]) for entry in socket.getaddrinfo(name, None)}
    except OSError:
        return set()
