// Rewrites the device list of a finished domain, leaving everything else as it is.
import type { XmlNode } from '../xml.js';

export const mapDevices = (domain: XmlNode, change: (devices: readonly XmlNode[]) => readonly XmlNode[]): XmlNode => ({
  ...domain,
  children: domain.children.map((node) => (node.tag === 'devices' ? { ...node, children: change(node.children) } : node)),
});
