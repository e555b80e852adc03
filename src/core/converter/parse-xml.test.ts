// Documents in any spelling become trees, as a library for all of XML reads them; what is not well-formed is refused with a word on why.
import fc from 'fast-check';
import { XMLParser, XMLValidator } from 'fast-xml-parser';
import { describe, expect, it } from 'vitest';
import { parseXml } from './parse-xml.js';
import { renderXml, type XmlNode } from './xml.js';

const parser = new XMLParser({
  preserveOrder: true,
  ignoreAttributes: false,
  attributeNamePrefix: '',
  parseTagValue: false,
  parseAttributeValue: false,
  trimValues: false,
  htmlEntities: true,
});

type Raw = Readonly<Record<string, unknown>>;

/** The same by the library. Comments and declarations it leaves out or gives a name of their own. */
function byLibrary(xml: string): XmlNode | undefined {
  return (parser.parse(xml) as readonly Raw[]).flatMap(nodesOf)[0];
}

function nodesOf(raw: Raw): XmlNode[] {
  const tag = Object.keys(raw).find((key) => key !== ':@') ?? '';
  if (tag === '#text' || tag.startsWith('?')) return [];
  const inner = raw[tag] as readonly Raw[];
  const children = inner.flatMap(nodesOf);
  const text =
    children.length > 0
      ? ''
      : inner
          .map((each) => String(each['#text'] ?? ''))
          .join('')
          .trim();
  return [{ tag, attrs: { ...(raw[':@'] as object | undefined) }, children, ...(text === '' ? {} : { text }) }];
}

describe('parseXml', () => {
  it.each<[string, string, string]>([
    [
      'either quotes, references and nesting',
      `<a x='1' y="&lt;&#65;&#x42;&apos;"> <b/>\n <c>t &amp; u</c></a>`,
      `<a x="1" y="&lt;AB'"><b/><c>t &amp; u</c></a>`,
    ],
    ['CDATA beside text', '<a>1<![CDATA[<&amp;]]>2</a>', '<a>1&lt;&amp;amp;2</a>'],
    ['references that look like others', '<a>&amp;lt;&amp;#65;</a>', '<a>&amp;lt;&amp;#65;</a>'],
    ['declaration, comments and instructions', '<?xml version="1.0"?><!-- <x> --><a><!-- - --><b/><?p q?></a>\n', '<a><b/></a>'],
    ['namespaces', `<a xmlns:q='u'><q:b q:c='1'/></a>`, '<a xmlns:q="u"><q:b q:c="1"/></a>'],
    ['names beyond ASCII and beyond the BMP', '<naïve größe="&#x1F600;">😀</naïve>', '<naïve größe="😀">😀</naïve>'],
    [
      'names that objects have',
      '<constructor toString="1"><__proto__/></constructor>',
      '<constructor toString="1"><__proto__/></constructor>',
    ],
  ])('reads %s', (_, xml, expected) => {
    expect(renderXml(parseXml(xml)).replace(/\n\s*/g, '')).toBe(expected);
  });

  it.each<[string, string]>([
    ['', 'there is nothing in it'],
    ['<!-- a -->', 'there is nothing in it'],
    ['<a>', '<a> does not end'],
    ['<a><b></a></b>', 'it ends <b> by </a>'],
    ['</a>', 'it ends <> by </a>'],
    ['<a/><', 'it breaks after 4 characters, at "<"'],
    ['<a/><b/>', 'there is more after <a>'],
    ['words <a/>', 'there is more after <a>'],
    ['<a x="1" x="2"/>', 'an attribute of <a> stands there twice'],
    ['<a x=1/>', 'it breaks after 0 characters'],
    ['<a x="<"/>', 'it breaks after 0 characters'],
    ['<a>x & y</a>', '& stands for nothing'],
    ['<a>]]></a>', 'there is a ]]> without <![CDATA['],
    ['<a>&copy;</a>', '&copy; stands for nothing'],
    ['<a>&constructor;</a>', '&constructor; stands for nothing'],
    ['<a>&#x110000;</a>', '&#x110000; stands for nothing'],
    ['<!DOCTYPE a [<!ENTITY e "f">]><a>&e;</a>', 'it breaks after 0 characters, at "<!DOCTYPE a [<!ENTIT"'],
  ])('refuses %j', (xml, why) => {
    expect(() => parseXml(xml, 'this')).toThrow(`this cannot be read: ${why}`);
  });
});

describe('as a library reads it', () => {
  const name = fc.constantFrom('a', 'b-c', 'q:arg', 'd.e', '_f');
  const piece = fc.constantFrom('x', ' ', '\n', '&lt;', '&amp;', '&#65;', '&#x1F600;', "'", 'é', '&amp;amp;');
  const value = fc.array(piece, { maxLength: 4 }).map((parts) => parts.join(''));
  const attribute = fc.tuple(name, value, fc.constantFrom(' ', '\n  ')).map(([key, text, gap]) => [key, `${gap}${key}="${text}"`] as const);
  const attributes = fc
    .uniqueArray(attribute, { maxLength: 3, selector: ([key]) => key })
    .map((all) => all.map(([, text]) => text).join(''));
  const words = fc.oneof(value, fc.constantFrom('<![CDATA[a<b]]>', '<!-- <c> -->'));
  const document: fc.Memo<string> = fc.memo((depth) => {
    const inner =
      depth <= 1
        ? words
        : fc.oneof(
            words,
            fc.array(document(depth - 1), { maxLength: 3 }).map((all) => `\n ${all.join('\n ')}`),
          );
    return fc
      .tuple(name, attributes, inner, fc.boolean())
      .map(([tag, attrs, content, isShort]) => (isShort && content === '' ? `<${tag}${attrs}/>` : `<${tag}${attrs}>${content}</${tag} >`));
  });

  it('in any document', () => {
    fc.assert(
      fc.property(document(3), (xml) => {
        expect(XMLValidator.validate(xml)).toBe(true);
        expect(parseXml(xml)).toEqual(byLibrary(xml));
      }),
      { numRuns: 500 },
    );
  });
});
