// Once before all journeys: cluster up, images loaded, namespace there. What it started, tools/test.ts takes down again.
import { ensureImages, IMAGE_NAMES } from '../../images/main.js';
import { bundleAll } from '../../tools/bundle.js';
import { ensureUp } from '../cluster/cluster.js';

export default async function setup(): Promise<void> {
  await bundleAll(); // kubectl-virt, which no image brings here
  const [images, cluster] = [await ensureImages({ only: IMAGE_NAMES }), await ensureUp()];
  for (const name of IMAGE_NAMES) await cluster.load(images[name]);
  await cluster.kubectl(['apply', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'e2e' } }));
}
