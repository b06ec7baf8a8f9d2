/**
 * A run in a process of its own, for suites that kill it or give it another user: does what it reads
 * from its standard input and prints a line of JSON for each thing that happens.
 */
import { text } from "node:stream/consumers";

import { Store } from "../../src/cache/store.ts";
import { LarderError } from "../../src/errors.ts";
import { filesImage } from "./fixture.ts";

export interface ChildRequest {
  /** `hold`: begins a fill and waits for its image until it is killed. */
  readonly action: "fill" | "hold" | "state" | "collect";
  readonly path: string;
  readonly name: string;
  /** Content of the image, by file name. */
  readonly files: Readonly<Record<string, string>>;
  /** Fill again and again, with each file's content doubled every other time, until killed. */
  readonly forever?: boolean;
  /** User to become once everything is loaded. */
  readonly uid?: number;
}

export type ChildEvent =
  | { readonly event: "ready" }
  | { readonly event: "waiting"; readonly message: string }
  | { readonly event: "opened" }
  | { readonly event: "done"; readonly result: string }
  | { readonly event: "error"; readonly code: string; readonly message: string };

function tell(event: ChildEvent): void {
  process.stdout.write(`${JSON.stringify(event)}\n`);
}

async function fillOnce(request: ChildRequest, files: ChildRequest["files"]): Promise<string> {
  const store = await Store.open(request.path);
  const open = async () => {
    tell({ event: "opened" });
    if (request.action === "hold") await new Promise(() => setInterval(() => {}, 60_000));
    return filesImage(files);
  };
  const { result } = await store.fill(request.name, {}, open, {
    signal: new AbortController().signal,
    owner: "image-cache-agent",
    force: request.forever,
    onWait: (message) => tell({ event: "waiting", message }),
  });
  return result;
}

async function act(request: ChildRequest): Promise<string> {
  if (request.action === "state") {
    const store = await Store.open(request.path);
    return (await store.state(request.name)).kind;
  }
  if (request.action === "collect") {
    const store = await Store.open(request.path);
    const removed = await store.collect({ mayRemove: () => true });
    return removed.map(({ entry }) => entry).join(" ");
  }
  const doubled = Object.entries(request.files).map(([name, content]) => [name, content + content]);
  while (request.forever === true) {
    await fillOnce(request, Object.fromEntries(doubled));
    await fillOnce(request, request.files);
  }
  return fillOnce(request, request.files);
}

function become(uid: number): void {
  process.setgroups?.([]);
  process.setgid?.(uid);
  process.setuid?.(uid);
}

const request: ChildRequest = JSON.parse(await text(process.stdin));
if (request.uid !== undefined) become(request.uid);
tell({ event: "ready" });
try {
  tell({ event: "done", result: await act(request) });
} catch (error) {
  const code = error instanceof LarderError ? error.code : "unknown";
  tell({ event: "error", code, message: String(error) });
}
