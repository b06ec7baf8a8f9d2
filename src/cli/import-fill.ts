import { Store, type FillOptions, type FillResult } from "../cache/store.ts";
import type { Archive } from "../image/archive.ts";
import type { Image } from "../registry/image.ts";
import { formatReference } from "../registry/reference.ts";
import type { ImportRequest, Origin } from "./import-request.ts";
import type { NoticeTally } from "./notice-tally.ts";
import type { Reporter } from "./reporter.ts";
import type { Shell } from "./shell.ts";
import { version } from "./version.ts";

/** What a fill tells while it works, and to whom. */
export interface FillContext {
  readonly shell: Shell;
  readonly reporter: Reporter;
  readonly tally: NoticeTally;
}

/** Fills the request's directory from its source, whichever kind that is. */
export async function fill(request: ImportRequest, context: FillContext): Promise<FillResult> {
  const store = await Store.open(request.cachePath);
  const { origin } = request;
  return origin.kind === "reference"
    ? fillFromRegistry(store, request, origin, context)
    : fillFromArchive(store, request, origin, context);
}

async function fillFromRegistry(
  store: Store,
  request: ImportRequest,
  origin: Origin & { kind: "reference" },
  context: FillContext,
): Promise<FillResult> {
  const { name, platform } = request;
  const { source, reference } = origin;
  let close: (() => unknown) | undefined;
  const open = async (signal: AbortSignal): Promise<Image> => {
    // In full, so that whoever meant a file of that name sees what it was taken for.
    context.reporter.status(`asking for ${formatReference(reference)}`);
    // Loaded here, since what is complete already needs no registry client.
    const { Registry } = await import("../registry/registry.ts");
    const registry = new Registry({
      ...request.access,
      environment: context.shell.environment,
      notify: context.tally.notify,
      userAgent: `larder/${version}`,
    });
    close = () => registry.close();
    return registry.image(reference, platform, signal);
  };
  try {
    const options = optionsOf(request, context);
    return await store.fill(name, { source }, announced(open, context), { ...options, source });
  } finally {
    await close?.();
  }
}

async function fillFromArchive(
  store: Store,
  request: ImportRequest,
  origin: Origin & { kind: "archive" },
  context: FillContext,
): Promise<FillResult> {
  const { openArchive } = await import("../image/archive.ts");
  context.reporter.status(`reading ${origin.path}`);
  const opened: Archive = await openArchive(origin.path, request.platform, context.shell.signal);
  try {
    const { image } = opened;
    const { archive, source } = origin;
    const filled = await store.fill(
      request.name,
      { digest: image.digest },
      announced(async () => image, context),
      { ...optionsOf(request, context), archive, source },
    );
    warnOfSource(filled, origin, context);
    return filled;
  } finally {
    await opened.close();
  }
}

/** A directory that is left as it is keeps what its sentinel says of the source. */
function warnOfSource(
  filled: FillResult,
  { source }: Origin & { kind: "archive" },
  { tally }: FillContext,
): void {
  const recorded = filled.sentinel.source;
  if (filled.result !== "complete" || source === undefined || source === recorded) return;
  const message = `it was complete already and is still recorded as ${recorded ?? "no reference"}, not ${source}: use --force to fill it anew`;
  tally.notify({ kind: "warning", message });
}

function announced(
  open: (signal: AbortSignal) => Promise<Image>,
  { reporter }: FillContext,
): (signal: AbortSignal) => Promise<Image> {
  return async (signal) => {
    const image = await open(signal);
    reporter.opened(image);
    return image;
  };
}

function optionsOf(request: ImportRequest, { shell, reporter }: FillContext): FillOptions {
  return {
    signal: shell.signal,
    hurry: shell.hurry,
    owner: "imagecachectl",
    force: request.force,
    minFree: request.minFree,
    progress: reporter,
    onWait: (message) => {
      reporter.note(message);
    },
  };
}
