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
  const dir = await mkdtemp(join(tmpdir(), "larder-certificates-"));
  const path = (name: string) => join(dir, name);
  const alternatives = ["localhost", ...names].map((name) => `DNS:${name}`);
  const extensions = [
    `subjectAltName=${[...alternatives, "IP:127.0.0.1", "IP:::1"].join(",")}`,
    "basicConstraints=CA:FALSE",
    "extendedKeyUsage=serverAuth",
  ];
  try {
    await writeFile(path("extensions"), extensions.join("\n"));
    await openssl(
      `req -x509 ${newKey} -days 2 -subj /CN=authority -keyout ca.key -out ca.pem`,
      dir,
    );
    await openssl(`req ${newKey} -subj /CN=localhost -keyout key -out request`, dir);
    await openssl(
      `x509 -req -days 2 -in request -extfile extensions -CA ca.pem -CAkey ca.key -set_serial ${Date.now()} -out pem`,
      dir,
    );
    const read = (name: string) => readFile(path(name), "utf8");
    return { ca: await read("ca.pem"), certificate: await read("pem"), key: await read("key") };
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

const newKey = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";

/** @param command without anything that would need quotes */
async function openssl(command: string, cwd: string): Promise<void> {
  await runCommand("openssl", command.split(" "), { cwd });
}
