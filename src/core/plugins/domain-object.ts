// A part of a domain as CEL expressions see it: its fields are read off the XML when they are asked for. Pure.
import { ABSENT, CelObject, type CelValue, intOf, isSet, uintOf } from '../cel/values.js';
import { childOf, childrenOf, type XmlNode } from '../converter/index.js';
import { type Mark, type Place, placesOf } from './domain-schema.js';

export class DomainObject extends CelObject {
  readonly type: string;
  readonly node: XmlNode;
  /** The element around it: some kinds of parts are told apart there. */
  readonly parent: XmlNode | undefined;

  constructor(type: string, node: XmlNode, parent?: XmlNode) {
    super();
    this.type = type;
    this.node = node;
    this.parent = parent;
  }

  field(name: string): CelValue {
    const place = placesOf(this.type)?.get(name);
    return place ? this.#at(place) : ABSENT;
  }

  entry(key: CelValue): CelValue | undefined {
    const value = typeof key === 'string' ? this.field(key) : ABSENT;
    return value === ABSENT ? undefined : value;
  }

  keys(): readonly string[] {
    return [...(placesOf(this.type)?.keys() ?? [])].filter((name) => isSet(this.field(name)));
  }

  #at(place: Place): CelValue {
    const { kind, type, xml } = place;
    switch (kind) {
      case 'attribute':
        return scalarOf(type, this.node.attrs[xml]);
      case 'text':
        return scalarOf(type, childOf(this.node, xml)?.text);
      case 'content':
        return scalarOf(type, this.node.text);
      case 'texts':
        return childrenOf(this.node, xml).map(({ text = '' }) => text);
      case 'elements':
        return childrenOf(this.node, xml).map((child) => new DomainObject(type, child, this.node));
      default:
        return this.#object(place);
    }
  }

  #object({ kind, type, xml, mark }: Place): CelValue {
    if (kind === 'variant') return this.#isMarked(mark) ? new DomainObject(type, this.node, this.parent) : ABSENT;
    const child = childOf(this.node, xml);
    return child ? new DomainObject(type, child, this.node) : ABSENT;
  }

  #isMarked(mark: Mark | undefined): boolean {
    if (!mark) return true;
    const attrs = (mark.on === 'self' ? this.node : this.parent)?.attrs ?? {};
    return Object.entries(mark.attrs).every(([name, value]) => attrs[name] === value);
  }
}

function scalarOf(type: string, text: string | undefined): CelValue {
  if (text === undefined) return ABSENT;
  if (type === 'string') return text;
  if (!/^-?(\d+|0x[0-9a-f]+)$/i.test(text)) return ABSENT;
  return (type === 'uint' ? uintOf(BigInt(text)) : intOf(BigInt(text))) ?? ABSENT;
}
