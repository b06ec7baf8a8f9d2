import { createHash, X509Certificate } from "node:crypto";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { getCACertificates } from "node:tls";

import { LarderError } from "../errors.ts";
import { ChangingFile, describeFileError } from "./changing-file.ts";

export interface Certificates {
  /** PEM, one certificate an item, for `ca` of node:tls; undefined where Node's own list says it all. */
  readonly ca: string[] | undefined;
  /** Changes exactly when `ca` does: what was connected with another one should not be used again. */
  readonly version: string;
}

/**
 * The certificate authorities to trust: those that Node brings (NODE_EXTRA_CA_CERTS included), those
 * that this machine's distribution trusts, and those of `--registry-ca`. The last are read again
 * when they change; the others are as they were when first asked for.
 */
export class TrustStore {
  readonly #path: string | undefined;
  readonly #files = new Map<string, ChangingFile<string[]>>();
  #last: Certificates | undefined;

  /** @param path `--registry-ca`: a PEM file, or a directory of *.pem, *.crt and *.cer */
  constructor(path?: string) {
    this.#path = path;
  }

  /**
   * All certificates as of now; the very same object as before when nothing changed. Building a TLS
   * context from them takes tens of milliseconds, so make one for each `version`, not for each
   * connection.
   *
   * @throws LarderError `usage` naming the file that is missing or malformed
   */
  async certificates(): Promise<Certificates> {
    const own = this.#path === undefined ? [] : await this.#read(this.#path);
    const version = createHash("sha256").update(own.join("\n")).digest("hex");
    if (this.#last?.version !== version) this.#last = { ca: withRoots(own), version };
    return this.#last;
  }

  async #read(path: string): Promise<string[]> {
    let current = path;
    try {
      const names = await certificateFiles(path);
      const own: string[] = [];
      for (current of names) own.push(...(await this.#file(current).read()));
      return own;
    } catch (error) {
      throw error instanceof LarderError ? error : refuse(current, describeFileError(error), error);
    }
  }

  #file(path: string): ChangingFile<string[]> {
    const known = this.#files.get(path);
    if (known !== undefined) return known;
    const file = new ChangingFile(path, (bytes) => parseCertificates(bytes, path));
    this.#files.set(path, file);
    return file;
  }
}

/**
 * The certificates of a PEM file, each without what stands around it.
 *
 * @throws LarderError `usage` naming the file, and which of its certificates is malformed
 */
export function parseCertificates(bytes: Buffer, file: string): string[] {
  // The first byte of every certificate in DER, and of no PEM file.
  if (bytes[0] === 0x30) {
    throw refuse(file, "it is DER, not PEM", undefined, `openssl x509 -inform der -in ${file}`);
  }
  const pem = bytes.toString("latin1");
  const begun = pem.match(/-----BEGIN CERTIFICATE-----/g)?.length ?? 0;
  if (begun === 0) throw refuse(file, "it holds no PEM certificate");
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
  blocks.forEach((block, index) => {
    if (!isCertificate(block)) {
      throw refuse(file, `its certificate ${index + 1} of ${begun} is malformed`);
    }
  });
  if (blocks.length < begun) {
    throw refuse(
      file,
      `only ${blocks.length} of the ${begun} certificates that it begins are whole`,
    );
  }
  return blocks.map((block) => `${block}\n`);
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0;
  } catch {
    return false;
  }
}

/** The file itself, or those of the directory, in order of their names. */
async function certificateFiles(path: string): Promise<string[]> {
  if (!(await stat(path)).isDirectory()) return [path];
  const names = (await readdir(path)).filter((name) => /\.(?:pem|crt|cer)$/i.test(name));
  if (names.length === 0) throw refuse(path, "the directory holds no *.pem, *.crt or *.cer");
  return names.sort().map((name) => join(path, name));
}

/** Node's own, this machine's and `own`, each once; undefined where the first are all there is. */
function withRoots(own: readonly string[]): string[] | undefined {
  const byContent = new Map<string, string>();
  const add = (pem: string) => byContent.set(pem.replace(/\s/g, ""), pem);
  getCACertificates("default").forEach(add);
  const known = byContent.size;
  getCACertificates("system").forEach(add);
  own.forEach(add);
  return byContent.size === known ? undefined : [...byContent.values()];
}

function refuse(file: string, why: string, cause?: unknown, command?: string): LarderError {
  return new LarderError("usage", {
    what: `cannot take certificates from --registry-ca ${file}`,
    why,
    todo:
      command === undefined
        ? "name a file of PEM certificates, or a directory of such files ending in .pem, .crt or .cer"
        : `convert it with '${command}'`,
    cause,
  });
}
