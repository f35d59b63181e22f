"""Opens COUNT idle TLS connections to a broker, then ends.

hold_connections.py ADDRESS AUTHORITY COUNT
"""

import socket
import ssl
import sys

address, authority, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
context = ssl.create_default_context(cafile=authority)
held = []
for number in range(count):
    # One client can use half of all connections: these are four clients.
    client = f"127.0.0.{2 + number % 4}"
    raw = socket.create_connection((address, 8080), timeout=30, source_address=(client, 0))
    connection = context.wrap_socket(raw, server_hostname=address)
    connection.sendall(b"GET /health HTTP/1.1\r\nHost: broker\r\n\r\n")
    answer = connection.recv(4096)
    if not answer.startswith(b"HTTP/1.1 200"):
        sys.exit(f"connection {number + 1} was answered {answer[:80]!r}")
    held.append(connection)
