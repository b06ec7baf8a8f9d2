import { stat } from "node:fs/promises";
import { join } from "node:path";

import { LarderError } from "../errors.ts";
import { describeFileError } from "./changing-file.ts";

/** A file that may hold credentials; one that somebody named must be there. */
export interface Place {
  readonly path: string;
  readonly named: boolean;
}

/**
 * In this order: $REGISTRY_AUTH_FILE (which names a file, so it must be there);
 * $DOCKER_CONFIG/config.json, or ~/.docker/config.json where that is not set;
 * $XDG_RUNTIME_DIR/containers/auth.json.
 */
export function usualPlaces(environment: NodeJS.ProcessEnv, home: string | undefined): Place[] {
  const {
    REGISTRY_AUTH_FILE: named,
    DOCKER_CONFIG: docker,
    XDG_RUNTIME_DIR: runtime,
  } = environment;
  const dockerFolder = docker || (home && join(home, ".docker"));
  const files = [
    dockerFolder && join(dockerFolder, "config.json"),
    runtime && join(runtime, "containers", "auth.json"),
  ];
  return [
    ...(named ? [{ path: named, named: true }] : []),
    ...files.flatMap((path) => (path ? [{ path, named: false }] : [])),
  ];
}

/**
 * The one place that `--registry-config` names: a file, or a directory with a config.json.
 *
 * @throws LarderError `usage` naming what is not there
 */
export async function namedPlace(path: string): Promise<Place> {
  try {
    const isDirectory = (await stat(path)).isDirectory();
    return { path: isDirectory ? join(path, "config.json") : path, named: true };
  } catch (error) {
    throw unreadable(path, describeFileError(error), error);
  }
}

/** The error for a named configuration that is missing or cannot be read: as wrong as the option. */
export function unreadable(path: string, why: string, cause: unknown): LarderError {
  return new LarderError("usage", {
    what: `cannot read the registry configuration ${path}`,
    why,
    todo: "create it or make it readable, or name another one with --registry-config",
    cause,
  });
}
