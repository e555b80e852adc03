import fc from 'fast-check';
import { XMLParser } from 'fast-xml-parser';
import { describe, expect, it } from 'vitest';
import { childOf, childrenOf, el, nodeAt, renderXml, textEl, type XmlNode } from './xml.js';

describe('renderXml', () => {
  it('indents children and closes empty elements', () => {
    const node = el('domain', { type: 'qemu' }, [textEl('name', 'a_b'), el('devices', {}, [el('rng')])]);
    expect(renderXml(node)).toBe('<domain type="qemu">\n  <name>a_b</name>\n  <devices>\n    <rng/>\n  </devices>\n</domain>');
  });

  it.each([
    ['markup in text', textEl('cmdline', 'a<b> & "c"'), '<cmdline>a&lt;b&gt; &amp; &#34;c&#34;</cmdline>'],
    ['markup in an attribute', el('source', { file: '"><x a="' }), '<source file="&#34;&gt;&lt;x a=&#34;"/>'],
    ['line breaks', textEl('session', 'a\nb'), '<session>a&#xA;b</session>'],
    ['characters that XML cannot hold', textEl('entry', 'a\u0000b'), '<entry>a\ufffdb</entry>'],
    ['numbers', el('vcpu', { id: 0, size: 2n ** 60n }), '<vcpu id="0" size="1152921504606846976"/>'],
    ['absent values', el('disk', { cache: undefined, io: '' }, [undefined, false]), '<disk/>'],
  ])('%s', (_title, node, want) => {
    expect(renderXml(node)).toBe(want);
  });

  it('is read back as it was built', () => {
    const name = fc.stringMatching(/^[a-z][a-z0-9_]{0,6}$/);
    const value = fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 12 }).filter((s) => s.trim() === s && s !== '');
    const { tree } = fc.letrec<{ tree: XmlNode }>((tie) => ({
      tree: fc.oneof(
        { maxDepth: 3 },
        fc.tuple(name, fc.dictionary(name, value, { maxKeys: 3 }), value).map(([tag, attrs, text]) => textEl(tag, text, attrs)),
        fc.tuple(name, fc.dictionary(name, value, { maxKeys: 3 }), fc.array(tie('tree'), { maxLength: 3 })).map((p) => el(...p)),
      ),
    }));
    fc.assert(
      fc.property(tree, (node) => {
        expect(read(renderXml(node))).toEqual(shape(node));
      }),
    );
  });
});

interface Shape {
  readonly tag: string;
  readonly attrs: Readonly<Record<string, string>>;
  readonly content: readonly (Shape | string)[];
}

const shape = ({ tag, attrs, children, text }: XmlNode): Shape => ({
  tag,
  attrs: { ...attrs },
  content: [...children.map(shape), ...(text ? [text] : [])],
});

type Parsed = Readonly<Record<string, unknown>>;

function read(xml: string): Shape {
  const parser = new XMLParser({
    preserveOrder: true,
    ignoreAttributes: false,
    attributeNamePrefix: '',
    parseTagValue: false,
    parseAttributeValue: false,
    processEntities: true,
    htmlEntities: true,
  });
  return readNode((parser.parse(xml) as Parsed[])[0] as Parsed);
}

function readNode(parsed: Parsed): Shape {
  const [tag = ''] = Object.keys(parsed).filter((key) => key !== ':@');
  const content = parsed[tag] as Parsed[];
  return {
    tag,
    attrs: { ...(parsed[':@'] as Record<string, string> | undefined) },
    content: content.map((child) => (typeof child['#text'] === 'string' ? child['#text'] : readNode(child))),
  };
}

describe('finding nodes', () => {
  const tree = el('a', {}, [el('b', { n: 1 }), el('b', { n: 2 }, [el('c')])]);

  it('by tag and path', () => {
    expect(childOf(tree, 'b')?.attrs.n).toBe('1');
    expect(childrenOf(tree, 'b')).toHaveLength(2);
    expect(nodeAt(tree, 'b', 'c')).toBeUndefined();
    expect(nodeAt(el('r', {}, [tree]), 'a', 'b')?.attrs.n).toBe('1');
    expect(nodeAt(undefined, 'x')).toBeUndefined();
  });
});
