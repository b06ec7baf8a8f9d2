import { randomUUID } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { runCommand } from "./command.ts";

export interface Certificates {
  /** PEM of the authority that signed `certificate`. */
  readonly ca: string;
  readonly certificate: string;
  readonly key: string;
}

/** A private authority, and a server certificate for 127.0.0.1, ::1, localhost and the names given. */
export async function makeCertificates(names: readonly string[] = []): Promise<Certificates> {
  return (await Authority.make()).issue(names);
}

/** A private authority that issues any number of certificates. */
export class Authority {
  /** PEM. */
  readonly certificate: string;
  readonly #key: string;

  private constructor(certificate: string, key: string) {
    this.certificate = certificate;
    this.#key = key;
  }

  static make(): Promise<Authority> {
    return inFolder(async (dir) => {
      // No two have one name: a client that trusts both could not tell whose key to check with.
      const subject = `-subj /CN=authority-${randomUUID()}`;
      await openssl(`req -x509 ${newKey} -days 2 ${subject} -keyout ca.key -out ca.pem`, dir);
      return new Authority(await read(dir, "ca.pem"), await read(dir, "ca.key"));
    });
  }

  /** A server certificate for 127.0.0.1, ::1, localhost and the names given. */
  issue(names: readonly string[] = []): Promise<Certificates> {
    return inFolder(async (dir) => {
      await writeFile(join(dir, "ca.pem"), this.certificate);
      await writeFile(join(dir, "ca.key"), this.#key);
      await writeFile(join(dir, "extensions"), extensionsFor(names));
      await openssl(`req ${newKey} -subj /CN=localhost -keyout key -out request`, dir);
      await openssl(
        `x509 -req -days 2 -in request -extfile extensions -CA ca.pem -CAkey ca.key -set_serial ${Date.now()} -out pem`,
        dir,
      );
      const [certificate, key] = [await read(dir, "pem"), await read(dir, "key")];
      return { ca: this.certificate, certificate, key };
    });
  }
}

const newKey = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";

function extensionsFor(names: readonly string[]): string {
  const alternatives = ["localhost", ...names].map((name) => `DNS:${name}`);
  return [
    `subjectAltName=${[...alternatives, "IP:127.0.0.1", "IP:::1"].join(",")}`,
    "basicConstraints=CA:FALSE",
    "extendedKeyUsage=serverAuth",
  ].join("\n");
}

async function inFolder<T>(use: (dir: string) => Promise<T>): Promise<T> {
  const dir = await mkdtemp(join(tmpdir(), "larder-certificates-"));
  try {
    return await use(dir);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

function read(dir: string, name: string): Promise<string> {
  return readFile(join(dir, name), "utf8");
}

/** @param command without anything that would need quotes */
async function openssl(command: string, cwd: string): Promise<void> {
  await runCommand("openssl", command.split(" "), { cwd });
}
