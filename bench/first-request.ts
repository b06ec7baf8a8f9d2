import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { AddressInfo } from "node:net";

/**
 * Starts the bundle and times how long it takes until a server sees its first HTTP request.
 * @param dir an empty folder
 * @returns seconds
 */
export async function firstRequest(larder: string, dir: string): Promise<number> {
  const cache = join(dir, "cache");
  await mkdir(cache, { recursive: true });
  const seen = Promise.withResolvers<bigint>();
  const server = createServer((_, response) => {
    seen.resolve(process.hrtime.bigint());
    response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;

  const began = process.hrtime.bigint();
  const args = ["--name", "bench", "--quiet", "--cache-path", cache];
  const child = spawn(larder, ["import", ...args, "--insecure-registry", host, `${host}/bench:1`], {
    stdio: "ignore",
  });
  child.once("close", () => {
    seen.reject(new Error("the bundle ended before it sent a request"));
  });
  child.once("error", seen.reject);
  try {
    return Number((await seen.promise) - began) / 1e9;
  } finally {
    child.kill();
    server.closeAllConnections();
    server.close();
  }
}
