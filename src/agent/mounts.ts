/**
 * Whether a mount covers a cache path, by /proc/self/mountinfo (proc_pid_mountinfo(5)). What is written
 * elsewhere in a container is gone with it, and no container runtime on the host ever sees it.
 */
import * as fs from "node:fs";

import { diskError } from "../cache/disk-error.ts";

/** What a path is on. */
export interface Cover {
  /** `mounted`: from the host, as far as a container can tell. */
  readonly kind: "mounted" | "container root" | "emptyDir" | "tmpfs";
  readonly mountPoint: string;
}

/** A line of mountinfo, as far as it is of use. */
export interface Mount {
  readonly id: number;
  /** The mount that this one was put on. */
  readonly parent: number;
  /** Which directory of its file system is mounted. */
  readonly root: string;
  readonly mountPoint: string;
  readonly type: string;
}

/** How the kubelet calls the folder that it makes emptyDir volumes in. */
const emptyDirs = "/volumes/kubernetes.io~empty-dir/";

/**
 * What a path is on in this process's view of the file system, links on the way followed. A path that
 * does not exist is on what its nearest existing parent is on.
 *
 * @throws LarderError `disk`
 */
export function readCover(path: string): Cover {
  try {
    return coverOf(realPath(path), fs.readFileSync("/proc/self/mountinfo", "utf8"));
  } catch (error) {
    throw diskError(`cannot tell what ${path} is mounted from`, error);
  }
}

/**
 * What a path is on. Pure.
 *
 * @param path absolute, normal, and without links
 * @param mountinfo content of /proc/self/mountinfo
 */
export function coverOf(path: string, mountinfo: string): Cover {
  const mount = mountOf(path, mountinfo);
  return { kind: kindOf(mount), mountPoint: mount?.mountPoint ?? "/" };
}

/**
 * The mount that a path leads into, found as the kernel finds it: on the way down, each mount that was
 * put on the present one at this very point takes over. So of mounts stacked on one point the last
 * counts, and one below a parent that was mounted over later does not. Undefined below a root that is
 * no mount point, as in a chroot.
 */
export function mountOf(path: string, mountinfo: string): Mount | undefined {
  const mounts = parseMounts(mountinfo);
  const ids = new Set(mounts.map(({ id }) => id));
  let mount = mounts.find(
    ({ id, parent, mountPoint }) => mountPoint === "/" && (parent === id || !ids.has(parent)),
  );
  for (const point of ancestors(path)) {
    for (let next = mount; next !== undefined; next = mountedOn(next, point, mounts)) mount = next;
  }
  return mount;
}

/** The lines of mountinfo; what is no such line is passed over. */
export function parseMounts(mountinfo: string): readonly Mount[] {
  return mountinfo.split("\n").flatMap((line) => parseMount(line) ?? []);
}

/** `id parent major:minor root mountPoint options optional... - type source superOptions`. */
function parseMount(line: string): Mount | undefined {
  const fields = line.split(" ");
  const [id, parent, , root, mountPoint] = fields;
  const dash = fields.indexOf("-", 6);
  const type = dash < 0 ? undefined : fields[dash + 1];
  if (root === undefined || mountPoint === undefined || type === undefined) return undefined;
  return {
    id: Number(id),
    parent: Number(parent),
    root: unescaped(root),
    mountPoint: unescaped(mountPoint),
    type: unescaped(type),
  };
}

/** Space, tab, newline, backslash and `#` are written as three octal digits. */
function unescaped(field: string): string {
  return field.replace(/\\([0-7]{3})/g, (_, octal: string) =>
    String.fromCharCode(Number.parseInt(octal, 8)),
  );
}

function mountedOn(under: Mount, point: string, mounts: readonly Mount[]): Mount | undefined {
  return mounts.findLast(
    ({ id, parent, mountPoint }) => parent === under.id && id !== under.id && mountPoint === point,
  );
}

/** `/`, `/a`, `/a/b` of `/a/b`. */
function ancestors(path: string): readonly string[] {
  const parts = path.split("/").filter((part) => part !== "");
  return ["/", ...parts.map((_, index) => `/${parts.slice(0, index + 1).join("/")}`)];
}

function kindOf(mount: Mount | undefined): Cover["kind"] {
  if (mount === undefined || mount.mountPoint === "/") return "container root";
  if (mount.type === "tmpfs") return "tmpfs";
  return `${mount.root}/`.includes(emptyDirs) ? "emptyDir" : "mounted";
}

/** Where a path leads; of one that is not there yet, as far as it is. */
function realPath(path: string): string {
  const points = ancestors(path).toReversed();
  for (const point of points) {
    if (fs.existsSync(point)) return `${fs.realpathSync(point)}${path.slice(point.length)}`;
  }
  return path;
}
