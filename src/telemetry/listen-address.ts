import { isIPv4, isIPv6 } from "node:net";

import { LarderError } from "../errors.ts";

/** Where a server listens. */
export interface ListenAddress {
  /** An IP address; undefined for all that the machine has. */
  readonly host: string | undefined;
  /** 0 for any that is free. */
  readonly port: number;
}

/**
 * Reads `:8081`, `127.0.0.1:8081` or `[::1]:8081`. A name is none: what it stands for can change, and a
 * server should be where its probes look for it.
 *
 * @throws LarderError `usage`
 */
export function parseListenAddress(text: string): ListenAddress {
  const { host = "", port = "" } =
    /^(?<host>|[^:[\]]+|\[[^[\]]+\]):(?<port>\d{1,5})$/.exec(text)?.groups ?? {};
  if (port === "") throw refused(text, "it is not of the form host:port");
  if (Number(port) > 65_535) throw refused(text, `there is no port ${port}`);
  const bare = host.replace(/^\[(.*)\]$/, "$1");
  const isAddress = bare === host ? isIPv4(bare) : isIPv6(bare);
  if (host !== "" && !isAddress) throw refused(text, `${host} is not an IP address`);
  return { host: host === "" ? undefined : bare, port: Number(port) };
}

/** The same in one form: `127.0.0.1:8081`. */
export function formatListenAddress({ host = "", port }: ListenAddress): string {
  return `${isIPv6(host) ? `[${host}]` : host}:${port}`;
}

function refused(text: string, why: string): LarderError {
  return new LarderError("usage", {
    what: `cannot listen on ${text}`,
    why,
    todo: "write :8081, 127.0.0.1:8081 or [::1]:8081",
  });
}
