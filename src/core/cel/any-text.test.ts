// Whatever is written, by accident or on purpose: checker and evaluator answer, and neither throws nor takes its time.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { guest } from '../../../test/builders/domain.js';
import { parseXml } from '../converter/parse-xml.js';
import { domainEnvironment, nodeEnvironment } from '../plugins/environments.js';
import { domainVariables } from '../plugins/mutation.js';
import { typeOfExpression } from './check.js';
import { evaluate } from './evaluate.js';

const DOMAIN = parseXml("<domain type='kvm'><name>x</name><devices><disk type='file'><source file='/a'/></disk></devices></domain>");
const variables = domainVariables(guest({}), DOMAIN);

const names = fc.constantFrom('vmi', 'domainSpec', 'x', 'int', 'constructor', '__proto__', 'toString');
const fields = fc.constantFrom('Name', 'Labels', 'Devices', 'Disks', 'Title', 'metadata', 'constructor', '__proto__', 'length');
const calls = fc.constantFrom('size', 'has', 'int', 'matches', 'format', 'all', 'map', 'split', 'sort', 'constructor', 'toString');
const literals = fc.constantFrom('1', '2u', '1.5', '"("', "'%s'", 'null', 'true', '[]', '{}', '9223372036854775807', 'b"x"');
const signs = fc.constantFrom('+', '-', '*', '/', '%', '==', '<', '&&', '||', 'in');

const expressions = fc.letrec<{ any: string }>((tie) => ({
  any: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    literals,
    names,
    fc.tuple(tie('any'), signs, tie('any')).map((parts) => parts.join(' ')),
    fc.tuple(tie('any'), fields).map(([of, field]) => `${of}.${field}`),
    fc.tuple(tie('any'), tie('any')).map(([of, key]) => `${of}[${key}]`),
    fc.tuple(calls, tie('any')).map(([call, of]) => `${call}(${of})`),
    fc.tuple(tie('any'), calls, names, tie('any')).map(([of, call, name, part]) => `${of}.${call}(${name}, ${part})`),
    fc.tuple(fields, tie('any')).map(([field, value]) => `Domain{${field}: ${value}}`),
    fc.tuple(tie('any'), tie('any'), tie('any')).map(([asked, yes, no]) => `(${asked} ? ${yes} : -${no})`),
  ),
})).any;

describe.each<[string, fc.Arbitrary<string>]>([
  ['any text', fc.string({ maxLength: 60, unit: 'grapheme' })],
  ['any expression', expressions],
])('%s', (_, texts) => {
  it('is answered', () => {
    fc.assert(
      fc.property(texts, (text) => {
        for (const environment of [domainEnvironment, nodeEnvironment]) expect(typeOfExpression(text, environment)).toHaveProperty('ok');
        expect(evaluate(text, variables)).toHaveProperty('ok');
      }),
      { numRuns: 400 },
    );
  });
});
