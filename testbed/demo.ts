/** `make demo`: the main job on real images, typed as a person would type it. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { machinePlatform } from "../src/registry/platform.ts";
import { startDockerRegistry } from "./docker-registry.ts";
import { pushImage } from "./image-builder.ts";
import { interruption } from "./interruption.ts";
import { cacheImage, pauseImage, registryImage, tarballOf } from "./real-images.ts";
import { say, Typist } from "./typing.ts";

const interrupted = interruption();
async function demo(home: string, registry: { readonly host: string; readonly url: string }) {
  const platform = machinePlatform();
  const typist = new Typist({ cwd: home, signal: interrupted });
  const type = async (command: string, expected = 0) => typist.type(command, expected);
  const cache = join(home, "image-cache");
  const name = `${registry.host}/boot-cache-pause:1`;
  const tree = `find '${cache}' -type f -printf '%P\\t%s bytes\\n' | sort`;

  say("Two cache images from Debian packages: busybox as a pause image, and the registry itself");
  const [pause, itself] = [await pauseImage(platform), await registryImage(platform)];
  await pushImage(registry.url, "boot-cache-pause", "1", cacheImage({ pause }, platform));
  const boot = tarballOf("boot-cache-registry", cacheImage({ registry: itself }, platform));
  await writeFile(join(home, "boot-cache-registry.tar"), boot);
  await mkdir(cache);
  process.stdout.write(`pushed ${name}, saved boot-cache-registry.tar\n`);

  const byReference = `larder import --name pause-1 --cache-path '${cache}' --insecure-registry ${registry.host} ${name}`;
  say("Fill the cache from the registry");
  await type(byReference);
  say("Fill it from a docker archive, with no registry at all");
  await type(`larder import --name registry-1 --cache-path '${cache}' ./boot-cache-registry.tar`);
  say("What a node has now");
  await type(tree);
  say("Doing it again finds nothing to do");
  await type(byReference);
  say("Every byte is what the image said");
  await type(`larder verify --cache-path '${cache}' --deep`);

  say("Break one byte: the size stays, the content does not");
  const broken = join(cache, "pause-1", "pause.tar");
  await type(`printf X | dd of='${broken}' bs=1 seek=100000 conv=notrunc status=none`);
  await type(`larder verify --cache-path '${cache}' --deep`, 1);
  say("Import it anew: the old content stays until the new is whole");
  await type(byReference.replace("import", "import --force"));
  await type(`larder verify --cache-path '${cache}' --deep`);
}

const began = performance.now();
const home = await mkdtemp(join(tmpdir(), "larder-demo-"));
try {
  const registry = await startDockerRegistry();
  try {
    await demo(home, registry);
  } finally {
    await registry.stop();
  }
} finally {
  await rm(home, { recursive: true, force: true });
}
say(`Cleaned up; ${((performance.now() - began) / 1000).toFixed(1)} s in all`);
