import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { runCommand } from "../../testbed/command.ts";
import { coverOf, parseMounts, readCover } from "./mounts.ts";

const cache = "/var/lib/image-cache";
const pod = "/pods/0c9d3a52-6f0e-4f0b-9d38-1f8c3b1f6a77";

/** A pod of containerd on ext4, with what a test adds. */
const containerd = (...more: readonly string[]): string =>
  [
    "1289 1087 0:214 / / ro,relatime master:412 - overlay overlay rw,lowerdir=/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/41/fs,upperdir=/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/77/fs,workdir=/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/77/work",
    "1290 1289 0:219 / /proc rw,nosuid,nodev,noexec,relatime - proc proc rw",
    "1291 1289 0:220 / /dev rw,nosuid - tmpfs tmpfs rw,size=65536k,mode=755",
    "1292 1291 0:221 / /dev/pts rw,nosuid,noexec,relatime - devpts devpts rw,gid=5,mode=620,ptmxmode=666",
    "1297 1289 0:218 / /sys ro,nosuid,nodev,noexec,relatime - sysfs sysfs ro",
    `1302 1289 259:1 /var/lib/kubelet${pod}/etc-hosts /etc/hosts rw,relatime - ext4 /dev/nvme0n1p1 rw`,
    "1303 1291 259:1 /var/lib/containerd/io.containerd.grpc.v1.cri/sandboxes/9f/hostname /etc/hostname rw - ext4 /dev/nvme0n1p1 rw",
    "1304 1289 0:205 / /run/secrets/kubernetes.io/serviceaccount ro,relatime - tmpfs tmpfs rw,size=32888132k,noswap",
    ...more,
    "",
  ].join("\n");

/** A pod of CRI-O on xfs, as on a Red Hat CoreOS node: /var is a mount of its own kind. */
const crio = (...more: readonly string[]): string =>
  [
    '2418 2305 0:388 / / rw,relatime - overlay overlay rw,context="system_u:object_r:container_file_t:s0:c12,c27",lowerdir=/var/lib/containers/storage/overlay/l/ABC,upperdir=/var/lib/containers/storage/overlay/8d/diff,workdir=/var/lib/containers/storage/overlay/8d/work,metacopy=on,volatile',
    "2419 2418 0:392 / /proc rw,nosuid,nodev,noexec,relatime - proc proc rw",
    '2420 2418 0:393 / /dev rw,nosuid - tmpfs tmpfs rw,context="system_u:object_r:container_file_t:s0:c12,c27",size=65536k,mode=755,inode64',
    "2425 2418 0:24 /containers/storage/overlay-containers/5b/userdata/run/secrets /run/secrets rw,nosuid,nodev - tmpfs tmpfs rw,seclabel,mode=755",
    ...more,
    "",
  ].join("\n");

const cases: readonly {
  readonly what: string;
  readonly mountinfo: string;
  readonly path?: string;
  readonly kind: string;
  readonly mountPoint: string;
}[] = [
  {
    what: "a host path of containerd on ext4 is mounted",
    mountinfo: containerd(`1305 1289 259:1 ${cache} ${cache} rw,relatime - ext4 /dev/nvme0n1p1 rw`),
    kind: "mounted",
    mountPoint: cache,
  },
  {
    what: "a host path of CRI-O on xfs, on a partition of its own, is mounted",
    mountinfo: crio(
      `2430 2418 8:4 /ostree/deploy/rhcos${cache} ${cache} rw,relatime - xfs /dev/sda4 rw,seclabel,attr2,inode64,prjquota`,
    ),
    kind: "mounted",
    mountPoint: cache,
  },
  {
    what: "a host path on a btrfs subvolume, with propagation, is mounted",
    mountinfo: crio(
      `2431 2418 0:30 /@/var/lib/image-cache ${cache} rw,noatime shared:7 master:2 propagate_from:1 - btrfs /dev/vda2 rw,ssd,subvolid=256,subvol=/@`,
    ),
    kind: "mounted",
    mountPoint: cache,
  },
  {
    what: "a host path of a node whose own root is an overlay is mounted",
    mountinfo: containerd(`1305 1289 0:97 ${cache} ${cache} rw,relatime - overlay overlay rw`),
    kind: "mounted",
    mountPoint: cache,
  },
  {
    what: "a path that nothing is mounted on is on the container's root",
    mountinfo: containerd(),
    kind: "container root",
    mountPoint: "/",
  },
  {
    what: "a mount beside the path, whose name begins alike, does not cover it",
    mountinfo: containerd(`1305 1289 259:1 /x ${cache}-2 rw - ext4 /dev/nvme0n1p1 rw`),
    kind: "container root",
    mountPoint: "/",
  },
  {
    what: "a mount below the path does not cover it",
    mountinfo: containerd(`1305 1289 259:1 /x ${cache}/app rw - ext4 /dev/nvme0n1p1 rw`),
    kind: "container root",
    mountPoint: "/",
  },
  {
    what: "a path below a mounted parent is mounted",
    mountinfo: containerd("1305 1289 259:1 /var/lib /var/lib rw - ext4 /dev/nvme0n1p1 rw"),
    kind: "mounted",
    mountPoint: "/var/lib",
  },
  {
    what: "an emptyDir of containerd on ext4 is not mounted from the host",
    mountinfo: containerd(
      `1305 1289 259:1 /var/lib/kubelet${pod}/volumes/kubernetes.io~empty-dir/cache ${cache} rw,relatime - ext4 /dev/nvme0n1p1 rw`,
    ),
    kind: "emptyDir",
    mountPoint: cache,
  },
  {
    what: "an emptyDir of CRI-O on an xfs partition for the kubelet alone is not mounted from the host",
    mountinfo: crio(
      `2430 2418 8:5 ${pod}/volumes/kubernetes.io~empty-dir/cache ${cache} rw,relatime - xfs /dev/sda5 rw,seclabel`,
    ),
    kind: "emptyDir",
    mountPoint: cache,
  },
  {
    what: "a folder of an emptyDir, mounted by subPath, is not mounted from the host",
    mountinfo: containerd(
      `1305 1289 259:1 /var/lib/kubelet${pod}/volumes/kubernetes.io~empty-dir/all/cache ${cache} rw - ext4 /dev/nvme0n1p1 rw`,
    ),
    kind: "emptyDir",
    mountPoint: cache,
  },
  {
    what: "an emptyDir on btrfs is not mounted from the host",
    mountinfo: crio(
      `2430 2418 0:30 /@/var/lib/kubelet${pod}/volumes/kubernetes.io~empty-dir/c ${cache} rw - btrfs /dev/vda2 rw,subvol=/@`,
    ),
    kind: "emptyDir",
    mountPoint: cache,
  },
  {
    what: "an emptyDir in memory is a tmpfs",
    mountinfo: containerd(`1305 1289 0:206 / ${cache} rw,relatime - tmpfs tmpfs rw,size=1048576k`),
    kind: "tmpfs",
    mountPoint: cache,
  },
  {
    what: "another volume of a pod, such as a local disk's, is mounted",
    mountinfo: containerd(
      `1305 1289 259:3 / ${cache} rw,relatime - ext4 /dev/nvme1n1p1 rw,stripe=4`,
    ),
    kind: "mounted",
    mountPoint: cache,
  },
  {
    what: "of two mounts on one point the last counts: a tmpfs over a host path",
    mountinfo: containerd(
      `1305 1289 259:1 ${cache} ${cache} rw - ext4 /dev/nvme0n1p1 rw`,
      `1306 1305 0:300 / ${cache} rw - tmpfs tmpfs rw`,
    ),
    kind: "tmpfs",
    mountPoint: cache,
  },
  {
    what: "of two mounts on one point the last counts: a host path over a tmpfs",
    mountinfo: containerd(
      `1306 1305 259:1 ${cache} ${cache} rw - ext4 /dev/nvme0n1p1 rw`,
      `1305 1289 0:300 / ${cache} rw - tmpfs tmpfs rw`,
    ),
    kind: "mounted",
    mountPoint: cache,
  },
  {
    what: "a mount whose parent was mounted over later does not count",
    mountinfo: containerd(
      `1305 1289 259:1 ${cache} ${cache} rw - ext4 /dev/nvme0n1p1 rw`,
      "1306 1289 0:300 / /var/lib rw - tmpfs tmpfs rw",
    ),
    kind: "tmpfs",
    mountPoint: "/var/lib",
  },
  {
    what: "of two mounts on one parent at one point the last counts",
    mountinfo: containerd(
      `1305 1289 259:1 ${cache} ${cache} rw - ext4 /dev/nvme0n1p1 rw`,
      `1306 1289 0:300 / ${cache} rw - tmpfs tmpfs rw`,
    ),
    kind: "tmpfs",
    mountPoint: cache,
  },
  {
    what: "spaces, tabs, backslashes and number signs in a mount point are understood",
    mountinfo: containerd(
      "1305 1289 259:1 /a\\040b /mnt/a\\040b\\011c\\134d\\043e rw - ext4 /dev/nvme0n1p1 rw",
    ),
    path: "/mnt/a b\tc\\d#e/cache",
    kind: "mounted",
    mountPoint: "/mnt/a b\tc\\d#e",
  },
  {
    what: "a backslash before digits in a mount point is no second escape",
    mountinfo: containerd("1305 1289 259:1 /a /mnt/x\\134040y rw - ext4 /dev/nvme0n1p1 rw"),
    path: "/mnt/x\\040y",
    kind: "mounted",
    mountPoint: "/mnt/x\\040y",
  },
  {
    what: "below a root that is no mount point, as in a chroot, nothing is mounted",
    mountinfo: "1290 1289 0:219 / /proc rw - proc proc rw\n",
    kind: "container root",
    mountPoint: "/",
  },
  {
    what: "a container whose root is a tmpfs has it as its root",
    mountinfo: "1289 1087 0:214 / / rw - tmpfs tmpfs rw\n",
    kind: "container root",
    mountPoint: "/",
  },
];

for (const { what, mountinfo, path, kind, mountPoint } of cases) {
  test(what, () => {
    assert.deepEqual(coverOf(path ?? cache, mountinfo), { kind, mountPoint });
  });
}

test("a line that is none of mountinfo's is passed over", () => {
  const text = "\n# nothing\n1 2 0:1 / /a rw\n1289 1087 0:214 / / rw - overlay overlay rw\n";
  assert.deepEqual(
    parseMounts(text).map(({ id }) => id),
    [1289],
  );
});

/** Prints, for each path, what Larder says it is on, and whether that is what the kernel says. */
const probe = `
import * as fs from "node:fs";
const { readCover, mountOf } = await import(process.env.MOUNTS);
const text = fs.readFileSync("/proc/self/mountinfo", "utf8");
for (const path of process.argv.slice(1)) {
  const fd = fs.openSync(path, "r");
  const id = Number(/^mnt_id:\\s*(\\d+)/m.exec(fs.readFileSync("/proc/self/fdinfo/" + fd, "utf8"))[1]);
  fs.closeSync(fd);
  const cover = readCover(path);
  const same = mountOf(fs.realpathSync(path), text)?.id === id;
  console.log(JSON.stringify([path.slice(process.env.BASE.length), cover.kind, cover.mountPoint.slice(process.env.BASE.length), same]));
}
`;

/** In a mount namespace of its own: every way to stack mounts that the table above has. */
const mounting = `
set -e
cd "$BASE"
mkdir -p host/cache "host/with space" "host/volumes/kubernetes.io~empty-dir/v" \\
  plain bound tmpfs over under/deep empty "a b" rebound
mount --bind host/cache bound
mkdir bound/below
mount -t tmpfs none tmpfs
mount --bind host/cache over
mount -t tmpfs none over
mount -t tmpfs none under/deep
mount --bind host under
mkdir -p host/deep
mount --bind "host/volumes/kubernetes.io~empty-dir/v" empty
mount --bind "host/with space" "a b"
mount -t tmpfs none rebound
mount --bind host/cache rebound
ln -s bound link
exec "$NODE" --input-type=module -e "$PROBE" "$BASE/bound" "$BASE/bound/below" "$BASE/tmpfs" \\
  "$BASE/over" "$BASE/under/deep" "$BASE/empty" "$BASE/a b" "$BASE/rebound" "$BASE/link/below"
`;

test("what a path is on agrees with the kernel, for real mounts", async (t) => {
  const base = mkdtempSync(join(tmpdir(), "larder-mounts-"));
  t.after(() => rmSync(base, { recursive: true }));
  const env = {
    BASE: base,
    NODE: process.execPath,
    PROBE: probe,
    MOUNTS: new URL("./mounts.ts", import.meta.url).href,
  };
  const { stdout } = await runCommand("unshare", ["--mount", "sh", "-c", mounting], { env });
  const said = stdout
    .trim()
    .split("\n")
    .map((line): unknown => JSON.parse(line));
  assert.deepEqual(said, [
    ["/bound", "mounted", "/bound", true],
    ["/bound/below", "mounted", "/bound", true],
    ["/tmpfs", "tmpfs", "/tmpfs", true],
    ["/over", "tmpfs", "/over", true],
    ["/under/deep", "mounted", "/under", true],
    ["/empty", "emptyDir", "/empty", true],
    ["/a b", "mounted", "/a b", true],
    ["/rebound", "mounted", "/rebound", true],
    ["/link/below", "mounted", "/bound", true],
  ]);
});

test("a path that is not there yet is on what its nearest parent is on", () => {
  assert.equal(readCover("/proc/no/such/thing").mountPoint, "/proc");
});
