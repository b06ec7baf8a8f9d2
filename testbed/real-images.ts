import { libraryFiles, packageFiles } from "./debian-files.ts";
import { buildImage, dockerArchive, type BuiltImage, type PlatformSpec } from "./image-builder.ts";

/** A pause and shell image: Debian's static busybox. */
export async function pauseImage(platform: PlatformSpec): Promise<BuiltImage> {
  const files = await packageFiles("busybox-static");
  return buildImage({
    platform,
    layers: [
      { entries: [...files, { path: "bin/sh", type: "symlink", linkName: "/bin/busybox" }] },
    ],
    config: { config: { Entrypoint: ["/bin/sh", "-c", "while :; do sleep 3600; done"] } },
  });
}

/** The registry itself, the very image that a cluster boots first: its libraries, then the program. */
export async function registryImage(platform: PlatformSpec): Promise<BuiltImage> {
  const program = "/usr/bin/docker-registry";
  const files = await packageFiles("docker-registry");
  return buildImage({
    platform,
    layers: [{ entries: await libraryFiles(program) }, { entries: files }],
    config: {
      config: { Entrypoint: [program], Cmd: ["serve", "/etc/docker/registry/config.yml"] },
    },
  });
}

/**
 * A cache image as people build them: from scratch, one layer an image, each `<name>.tar` in it a
 * docker archive.
 */
export function cacheImage(
  images: Readonly<Record<string, BuiltImage>>,
  platform: PlatformSpec,
): BuiltImage {
  const layers = Object.entries(images).map(([name, image]) => ({
    entries: [{ path: `${name}.tar`, content: tarballOf(name, image) }],
  }));
  return buildImage({ platform, layers });
}

/** What `docker save` would make of an image under the name that a kubelet asks for. */
export function tarballOf(name: string, image: BuiltImage): Buffer {
  return dockerArchive([{ image, tags: [`registry.example.com/${name}:1`] }]);
}
