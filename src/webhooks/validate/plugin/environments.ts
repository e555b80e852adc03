// What the CEL expressions of plugins may speak of. Expressions about the domain see API objects under the names of the launcher's own
// structures, in capitals; those of node hooks see them as they are written in YAML. Pure data.
import type { Environment, Type } from '../../../core/cel/check.js';

const VMI: Type = 'VirtualMachineInstance';
export const DOMAIN: Type = 'Domain';
const IN_YAML = ['apiVersion', 'kind', 'metadata', 'spec', 'status'];
const CAPITAL = /^[A-Z]/;
/** Every part of a domain is itself a type. */
const DOMAIN_PART = /^(?:libvirtxml\.)?(Domain(?:[A-Z]\w*)?)$/;

export const domainEnvironment: Environment = {
  variables: { vmi: VMI, domainSpec: DOMAIN },
  hasField: (type, field) => (type === VMI || DOMAIN_PART.test(type) ? CAPITAL.test(field) : undefined),
  typeNamed: (name) => DOMAIN_PART.exec(name)?.[1] ?? (name === `v1.${VMI}` ? VMI : undefined),
  functions: {},
};

const results = (type: Type, ...names: string[]): Record<string, Type> => Object.fromEntries(names.map((name) => [name, type]));

export const nodeEnvironment: Environment = {
  variables: { vmi: VMI },
  hasField: (type, field) => (type === VMI ? IN_YAML.includes(field) : undefined),
  typeNamed: (name) => (name === `v1.${VMI}` ? VMI : undefined),
  functions: {
    ...results(
      'string',
      'charAt',
      'format',
      'join',
      'lowerAscii',
      'replace',
      'reverse',
      'strings.quote',
      'substring',
      'trim',
      'upperAscii',
    ),
    ...results('int', 'indexOf', 'lastIndexOf', 'math.bitAnd', 'math.bitOr', 'math.bitXor', 'math.sign'),
    ...results('any', 'math.greatest', 'math.least', 'math.abs', 'math.ceil', 'math.floor', 'math.round', 'math.trunc', 'first', 'last'),
    ...results('list', 'distinct', 'flatten', 'lists.range', 'slice', 'sort', 'sortBy', 'split'),
    ...results('bool', 'math.isFinite', 'math.isInf', 'math.isNaN'),
  },
};
