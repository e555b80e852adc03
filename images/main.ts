// `npm run images [-- NAME…]`: makes the container images (without names all but the Debian guest) and prints one `NAME ARCHIVE` a line on
// standard output, progress on standard error. Other code calls ensureImages().
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { messageOf } from '../src/base/errors.js';
import { IMAGE_NAMES, type ImageName, USUAL_IMAGES } from './catalogue.js';
import { ensureImages } from './ensure.js';

export { IMAGE_NAMES, type ImageName, USUAL_IMAGES } from './catalogue.js';
export { ensureImages, type ImageArchives, type ImageOptions } from './ensure.js';
export { launcherRoot, programOf, tinyDisk } from './unpacked.js';

const isImageName = (name: string): name is ImageName => (IMAGE_NAMES as readonly string[]).includes(name);

async function main(args: readonly string[]): Promise<number> {
  const unknown = args.find((arg) => !isImageName(arg));
  if (unknown !== undefined) {
    process.stderr.write(`there is no image ${unknown}; the images are ${IMAGE_NAMES.join(', ')}\n`);
    return 2;
  }
  const wanted = args.length > 0 ? args.filter(isImageName) : USUAL_IMAGES;
  try {
    const archives = await ensureImages({ only: wanted });
    for (const name of wanted) process.stdout.write(`${name} ${archives[name]}\n`);
    return 0;
  } catch (err) {
    process.stderr.write(`${messageOf(err)}\n`);
    return 1;
  }
}

if (process.argv[1] !== undefined && fileURLToPath(import.meta.url) === resolve(process.argv[1])) {
  process.exitCode = await main(process.argv.slice(2));
}
