// Once before all journeys: cluster up, images loaded, namespace there. What it started, tools/test.ts takes down again.
import { ensureImages } from '../../images/main.js';
import { bundleAll } from '../../tools/bundle.js';
import { ensureUp } from '../cluster/cluster.js';

export default async function setup(): Promise<void> {
  await bundleAll(); // kubectl-virt, which no image brings here
  const [images, cluster] = [await ensureImages(), await ensureUp()];
  for (const tar of [images.control, images.launcher, images.tiny]) await cluster.load(tar);
  await cluster.kubectl(['apply', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'e2e' } }));
}
