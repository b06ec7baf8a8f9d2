import { once } from "node:events";
import { createServer } from "node:net";

/** Below Linux's range for outgoing connections (from 32768), above what services are given. */
const range = { from: 12_000, to: 32_000 };

/**
 * A TCP port on 127.0.0.1 that nobody listens on now, and that no outgoing connection is given: it
 * stays free for a server that is stopped for a while and comes back, and whoever calls it meanwhile
 * cannot be connected to itself.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = range.from + Math.floor(Math.random() * (range.to - range.from));
    if (await isFree(port)) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, "127.0.0.1");
  try {
    await once(server, "listening");
  } catch {
    return false;
  }
  server.close();
  await once(server, "close");
  return true;
}
