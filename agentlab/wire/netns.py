"""A network of its own for some processes: a loopback interface, one way to one local port, and no other.

It is run by file name (``python -I -S netns.py PORT``), as root, and uses the standard library only. It
makes a network namespace, listens in it on the same port, and passes connections on to that port of this
machine. All addresses lead to its loopback, so that a name server's address leads here: names that are asked
for are told, one JSON line each, and answered "no such domain". It ends when its stdin closes.
"""

import asyncio
import ctypes
import fcntl
import json
import os
import socket
import struct
import sys
import threading
import time

_CLONE_NEWNET = 0x40000000
_RESET = struct.pack("ii", 1, 0)
_TYPES = {1: "A", 28: "AAAA", 12: "PTR", 16: "TXT", 33: "SRV", 65: "HTTPS"}


def enter_new_network() -> None:
    """Move this thread into a new network whose only interface is an open loopback."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWNET) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        request = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(probe, 0x8913, request))[1]  # SIOCGIFFLAGS
        fcntl.ioctl(probe, 0x8914, struct.pack("16sh14x", b"lo", flags | 1))  # SIOCSIFFLAGS, IFF_UP
    _lead_all_addresses_here(socket.if_nametoindex("lo"))


def _lead_all_addresses_here(interface: int) -> None:
    """Add ``local default dev lo`` (rtnetlink), so that a name server's address is one of ours."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as netlink:
        netlink.bind((0, 0))
        # family, lengths, tos, table "local", protocol "boot", scope "host", type "local", flags
        route = struct.pack("=BBBBBBBBI", socket.AF_INET, 0, 0, 0, 255, 3, 254, 2, 0)
        route += struct.pack("=HHI", 8, 4, interface)  # RTA_OIF
        header = struct.pack("=IHHII", 16 + len(route), 24, 0x605, 1, 0)  # RTM_NEWROUTE; create, ack
        netlink.send(header + route)
        error = struct.unpack_from("=i", netlink.recv(4096), 16)[0]
    if error:
        raise OSError(-error, os.strerror(-error))


def open_sockets(port: int) -> tuple[socket.socket, socket.socket, int]:
    """Make the network and what listens in it, in a thread of its own: this one stays where it is.

    Parameters
    ----------
    port : int
        What is passed on.

    Returns
    -------
    tuple
        The listening socket, the name server's socket, and a descriptor of the network.
    """
    made: list[tuple[socket.socket, socket.socket, int]] = []
    failed: list[OSError] = []

    def work() -> None:
        try:
            enter_new_network()
            relay = socket.create_server(("127.0.0.1", port), backlog=128)
            names = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            names.setsockopt(socket.IPPROTO_IP, 8, 1)  # IP_PKTINFO: which address was asked
            names.bind(("0.0.0.0", 53))
            made.append((relay, names, os.open("/proc/thread-self/ns/net", os.O_RDONLY)))
        except OSError as error:
            failed.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return made[0]


class Side(asyncio.Protocol):
    """One side of a connection that is passed on; a reset of one side resets the other."""

    def __init__(self, port: int | None) -> None:
        self.port = port
        self.peer: Side | None = None
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Connect onwards before anything is read."""
        self.transport = transport
        if self.port is not None:
            transport.pause_reading()
            task = asyncio.ensure_future(self.connect(self.port))
            task.add_done_callback(lambda done: done.exception() and self.reset())

    async def connect(self, port: int) -> None:
        """Reach the real port, from the network that this process was started in."""
        loop = asyncio.get_running_loop()
        _, other = await loop.create_connection(lambda: Side(None), "127.0.0.1", port)
        other.peer, self.peer = self, other
        if self.transport is not None:
            self.transport.resume_reading()

    def data_received(self, data: bytes) -> None:
        """Pass bytes on at once."""
        if self.peer is not None and self.peer.transport is not None:
            self.peer.transport.write(data)

    def eof_received(self) -> bool:
        """Pass a half-close on and stay open for the other direction."""
        if self.peer is not None and self.peer.transport is not None and not self.peer.transport.is_closing():
            self.peer.transport.write_eof()
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        """End the other side in the same way."""
        peer, self.peer = self.peer, None
        if peer is None:
            return
        peer.peer = None
        if exc is not None:
            peer.reset()
        elif peer.transport is not None:
            peer.transport.close()

    def pause_writing(self) -> None:
        """Read no more from the other side than this one takes."""
        if self.peer is not None and self.peer.transport is not None:
            self.peer.transport.pause_reading()

    def resume_writing(self) -> None:
        """Read on."""
        if self.peer is not None and self.peer.transport is not None:
            self.peer.transport.resume_reading()

    def reset(self) -> None:
        """Break the connection visibly: a clean end would be taken for the end of an answer."""
        if self.transport is None:
            return
        sock = self.transport.get_extra_info("socket")
        if sock is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self.transport.abort()


def asked(query: bytes) -> tuple[str, str, bytes] | None:
    """Read a DNS query.

    Parameters
    ----------
    query : bytes
        As it came.

    Returns
    -------
    tuple of (str, str, bytes) or None
        The name, the kind of record, and the answer that there is no such name.
    """
    labels: list[str] = []
    at = 12
    try:
        while query[at]:
            size = query[at]
            if size > 63:
                return None
            labels.append(query[at + 1 : at + 1 + size].decode("ascii", "backslashreplace"))
            at += 1 + size
        end = at + 5
        kind = struct.unpack_from("!H", query, at + 1)[0]
    except (IndexError, struct.error):
        return None
    header = query[:2] + struct.pack("!HHHHH", 0x8183, 1, 0, 0, 0)
    return ".".join(labels).lower(), _TYPES.get(kind, str(kind)), header + query[12:end]


def answer(names: socket.socket) -> None:
    """Answer one query from the address that was asked, and tell its name."""
    query, control, _, sender = names.recvmsg(4096, 64)
    found = asked(query)
    if found is None:
        return
    name, kind, reply = found
    tell({"lookup": name, "type": kind, "t": time.monotonic_ns()})
    source = [
        (level, what, b"\0" * 4 + data[4:8] + b"\0" * 4) for level, what, data in control if len(data) >= 12
    ]
    names.sendmsg([reply], source, 0, sender)


def tell(message: dict) -> None:  # type: ignore[type-arg]
    """Write one line to stdout."""
    os.write(1, json.dumps(message).encode() + b"\n")


async def main() -> None:
    """Serve until stdin closes."""
    port = int(sys.argv[1])
    try:
        relay, names, network = open_sockets(port)
    except OSError as error:
        tell({"error": error.strerror or str(error)})
        return
    loop = asyncio.get_running_loop()
    over = loop.create_future()
    loop.add_reader(0, lambda: os.read(0, 64) or over.done() or over.set_result(None))
    loop.add_reader(names, answer, names)
    await loop.create_server(lambda: Side(port), sock=relay)
    tell({"ready": f"/proc/{os.getpid()}/fd/{network}"})
    await over


if __name__ == "__main__":
    asyncio.run(main())
