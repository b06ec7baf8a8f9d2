import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface GuardedDirectory {
  readonly path: string;
  /** Safe to call twice. */
  remove(): Promise<void>;
}

// Standard input is a pipe of whoever made the directory: it closes when that process ends, however
// it ends. Programs that wrote into the directory may still be dying then, so more than one attempt.
const guard = `
read -r _
for _ in 1 2 3 4 5 6 7 8 9; do
  rm -rf "$1" && exit
  sleep 0.2
done
`;

/** A directory in the system's temporary one that is gone when this process is, however it ends. */
export async function guardedDirectory(prefix: string): Promise<GuardedDirectory> {
  const path = await mkdtemp(join(tmpdir(), prefix));
  // A process group of its own: an interrupt from the keyboard must not reach it.
  const child = spawn("sh", ["-c", guard, "sh", path], {
    cwd: "/",
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  const ended = once(child, "exit");
  child.unref();
  return {
    path,
    async remove() {
      await rm(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
      child.ref();
      child.stdin.destroy();
      await ended;
    },
  };
}
