// Trees as text: what is escaped, how it is laid out, and that it is read back as it was.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseXml } from './parse-xml.js';
import { childOf, childrenOf, renderXml, type XmlNode } from './xml.js';

const node = (tag: string, attrs: Record<string, string> = {}, children: readonly XmlNode[] = []): XmlNode => ({ tag, attrs, children });
const words = (tag: string, text: string): XmlNode => ({ ...node(tag), text });

describe('renderXml', () => {
  it('indents children and closes empty elements', () => {
    const tree = node('domain', { type: 'qemu' }, [words('name', 'a_b'), node('devices', {}, [node('rng')])]);
    expect(renderXml(tree)).toBe('<domain type="qemu">\n  <name>a_b</name>\n  <devices>\n    <rng/>\n  </devices>\n</domain>');
  });

  it.each([
    ['markup in text', words('cmdline', 'a<b> & "c"'), '<cmdline>a&lt;b&gt; &amp; &#34;c&#34;</cmdline>'],
    ['markup in an attribute', node('source', { file: '"><x a="' }), '<source file="&#34;&gt;&lt;x a=&#34;"/>'],
    ['line breaks', words('session', 'a\nb'), '<session>a&#xA;b</session>'],
    ['characters that XML cannot hold', words('entry', 'a\u0000b'), '<entry>a\ufffdb</entry>'],
    ['no text', words('entry', ''), '<entry/>'],
  ])('%s', (_title, tree, want) => {
    expect(renderXml(tree)).toBe(want);
  });

  it('is read back as it was built', () => {
    const name = fc.stringMatching(/^[a-z][a-z0-9_]{0,6}$/);
    const value = fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 12 }).filter((s) => s.trim() === s);
    const attrs = fc.dictionary(name, value, { maxKeys: 3 }).map((given) => ({ ...given }));
    const { tree } = fc.letrec<{ tree: XmlNode }>((tie) => ({
      tree: fc.oneof(
        { maxDepth: 3 },
        fc.record({ tag: name, attrs, children: fc.constant([]), text: value }),
        fc.record({ tag: name, attrs, children: fc.array(tie('tree'), { maxLength: 3 }) }),
      ),
    }));
    fc.assert(
      fc.property(tree, (given) => {
        expect(parseXml(renderXml(given))).toEqual(given);
      }),
    );
  });
});

it('finds children by tag', () => {
  const tree = node('a', {}, [node('b', { n: '1' }), node('b', { n: '2' }, [node('c')])]);
  expect(childOf(tree, 'b')?.attrs.n).toBe('1');
  expect(childrenOf(tree, 'b')).toHaveLength(2);
  expect(childOf(undefined, 'x')).toBeUndefined();
});
