// XML in the order of the model of a domain: children of one kind stand together, where the first of them stood. Nothing reads another order
// out of a domain.
import type { XmlNode } from '../../src/core/converter/index.js';

export function grouped(node: XmlNode): XmlNode {
  const tags = [...new Set(node.children.map(({ tag }) => tag))];
  return { ...node, children: tags.flatMap((tag) => node.children.filter((child) => child.tag === tag)).map(grouped) };
}
