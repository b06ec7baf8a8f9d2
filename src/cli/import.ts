import { importOptions } from "./import-options.ts";
import { refusalOf } from "./import-result.ts";
import { verb } from "./verb.ts";

/** `larder import`: fill a cache directory once. */
export const importVerb = verb({
  name: "import",
  summary: "fill a cache directory from a registry, an archive or an OCI layout",
  details: `Lays the files of a cache image out in <cache path>/<name>, all or nothing. A directory that
holds the image already is left as it is, and no registry is asked. One that Larder did not make
is never touched.`,
  operand: {
    name: "source",
    count: "one",
    completion: "archive",
    about: `An image reference; or a path: what starts with / or ., or ends in .tar, .tar.gz, .tgz or
.tar.zst (docker archive, OCI layout archive, OCI layout directory)`,
  },
  options: importOptions,
  examples: [
    {
      about: "From a registry",
      line: "larder import --name worker-134-0-0 registry.example.com/boot-cache-worker:134.0.0",
    },
    {
      about: "From a file that somebody carried here",
      line: "larder import --name worker-134-0-0 /mnt/usb/boot-cache-worker.tar",
    },
    {
      about: "From another registry than the reference names",
      line: "larder import --name boot --registry-rewrite ghcr.io=10.0.0.1:5000/ghcr ghcr.io/acme/boot:1",
    },
  ],
  refusal: refusalOf,
  run: async (given, operands, shell) => {
    const { importImage } = await import("./import-action.ts");
    return importImage(given, operands, shell);
  },
});
