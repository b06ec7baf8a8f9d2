/** What the suites of the registry client have in common. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { inspect } from "node:util";

import { LarderError } from "../../src/errors.ts";
import type { Clock } from "../../src/registry/clock.ts";
import type { Image, Layer, Notice } from "../../src/registry/image.ts";
import { parseReference } from "../../src/registry/reference.ts";
import { Registry } from "../../src/registry/registry.ts";
import type { RegistryOptions } from "../../src/registry/registry.ts";
import { buildImage } from "../../testbed/built-image.ts";
import type { BuiltImage } from "../../testbed/built-image.ts";
import { startMisbehavingRegistry } from "../../testbed/misbehaving-registry.ts";
import type {
  MisbehavingRegistry,
  MisbehavingRegistryOptions,
} from "../../testbed/misbehaving-registry.ts";
import { tempDirectory } from "../../testbed/temp-directory.ts";

export const amd64 = { os: "linux", architecture: "amd64" };

/** A clock whose sleeps pass at once and are written down. */
export class LeapingClock implements Clock {
  readonly sleeps: number[] = [];
  #now = 1_000;

  monotonic(): number {
    return this.#now;
  }

  date(): number {
    return Date.UTC(2026, 0, 1) + this.#now;
  }

  async sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.sleeps.push(milliseconds);
    this.#now += milliseconds;
  }

  /** Lets time pass while nobody sleeps. */
  leap(milliseconds: number): void {
    this.#now += milliseconds;
  }
}

export interface Client {
  readonly registry: Registry;
  readonly notices: Notice[];
  readonly clock: LeapingClock;
  /** Resolves a reference for linux/amd64. */
  image(reference: string, signal?: AbortSignal): Promise<Image>;
}

/** A client with a leaping clock, closed when the test ends. */
export function client(t: TestContext, options: Partial<RegistryOptions> = {}): Client {
  const notices: Notice[] = [];
  const clock = new LeapingClock();
  const registry = new Registry({
    environment: {},
    notify: (notice) => notices.push(notice),
    clock,
    random: () => 0.5,
    ...options,
  });
  t.after(() => registry.close());
  const image = (reference: string, signal = new AbortController().signal) =>
    registry.image(parseReference(reference), amd64, signal);
  return { registry, notices, clock, image };
}

/** A misbehaving registry that stops when the test ends. */
export async function server(
  t: TestContext,
  options: MisbehavingRegistryOptions = {},
): Promise<MisbehavingRegistry> {
  const registry = await startMisbehavingRegistry(options);
  t.after(() => registry.stop());
  return registry;
}

/** A plain http server that holds `image` as `app:1`, and a client that is allowed to ask it. */
export async function pair(
  t: TestContext,
  image: BuiltImage = sample(),
  options: Partial<RegistryOptions> = {},
  serving: MisbehavingRegistryOptions = {},
) {
  const at = await server(t, serving);
  at.hold("team/app", "1", image);
  const insecure = [at.host, ...(options.insecure ?? [])];
  const from = client(t, { ...options, insecure });
  return { at, from, name: `${at.host}/team/app:1`, image };
}

/** One layer that is 300,000 bytes as stored. */
export function sample(): BuiltImage {
  const tar = Buffer.alloc(300_000);
  for (let at = 0; at < tar.length; at++) tar[at] = (at * 31 + (at >> 8)) % 251;
  return buildImage({ layers: [{ tar, compression: "none" }] });
}

export async function bytesOf(
  layer: Layer | undefined,
  signal = new AbortController().signal,
): Promise<Buffer> {
  if (layer === undefined) throw new Error("there is no such layer");
  const chunks: Buffer[] = [];
  for await (const chunk of layer.open(signal)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** The error that `work` must end with. */
export async function failureOf(work: Promise<unknown>): Promise<LarderError> {
  let result: unknown;
  try {
    result = await work;
  } catch (error) {
    if (error instanceof LarderError) return error;
    throw error;
  }
  throw new Error(`it should have failed, and gave ${inspect(result)}`);
}

/** Everything that anybody could print of an error, its causes included. */
export function everythingOf(error: unknown): string {
  const deep = inspect(error, { depth: 20, showHidden: true, maxStringLength: Infinity });
  const causes: string[] = [];
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    causes.push(`${at.name} ${at.message} ${at.stack} ${JSON.stringify(at)}`);
  }
  return [deep, ...causes].join("\n");
}

/** A file with this text, gone when the test ends. */
export async function fileWith(
  t: TestContext,
  text: string,
  name = "config.json",
): Promise<string> {
  const path = join(await tempDirectory(t), name);
  await writeFile(path, text);
  return path;
}

/** A docker config.json with one user for each key. */
export function dockerConfig(
  t: TestContext,
  users: Readonly<Record<string, { username: string; password: string }>>,
): Promise<string> {
  const auths = Object.fromEntries(
    Object.entries(users).map(([key, { username, password }]) => [
      key,
      { auth: Buffer.from(`${username}:${password}`).toString("base64") },
    ]),
  );
  return fileWith(t, JSON.stringify({ auths }));
}
