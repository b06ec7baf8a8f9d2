/** The one door to the images that tests are run on: build one, then save, lay out or push it. */
export {
  buildImage,
  buildIndex,
  type BuiltImage,
  type BuiltIndex,
  type BuiltLayer,
  type Compression,
  type ImageSpec,
  type LayerSpec,
  type PlatformSpec,
} from "./built-image.ts";
export { dockerArchive } from "./docker-save.ts";
export { blobPath, ociArchive, ociLayoutFiles, writeOciLayout } from "./oci-layout-writer.ts";
export { pushImage } from "./push-image.ts";
export { tarOf, type TarSpec } from "./tar-writer.ts";
